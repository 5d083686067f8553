"""Stored pipelines with conditionals: the same bits, random values included, and bad files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError, fn
from gradiva.capture.serialization.proto import parse
from gradiva.capture.serialization.reader import read_pipeline
from tests.capture.recording.conditional_forms import FORMS, OURS
from tests.capture.recording.conditionals import bits
from tests.capture.serialization.stored import change
from tests.tiers import few

SIZE = 6
X = [np.int32(value) for value in (0, 1, 2, 3, 3, 0)]
Y = [np.int32(value) for value in (1, 1, 1, 0, 3, 3)]
IMAGES = [np.arange(20 + k, dtype=np.uint8).repeat(3).reshape(-1, 1, 3) for k in range(SIZE)]
GIVEN: dict[str, Any] = {"x": X, "y": Y, "images": IMAGES}

Define = Callable[[Any, Any], Any]


def take(name: str, typed: bool = True) -> Any:
    more: dict[str, Any] = {"layout": "HWC"} if name == "images" else {}
    if typed:
        more |= {"dtype": GIVEN[name][0].dtype.name, "ndim": GIVEN[name][0].ndim}
    return fn.external_source(source=lambda: GIVEN[name], name=name, **more)


def made(define: Define, typed: bool = True) -> Any:
    @gradiva.pipeline_def(batch_size=SIZE, num_threads=1, seed=5, enable_conditionals=True)
    def pipeline() -> Any:
        return define(take("x", typed), take("y", typed))

    return pipeline()


def loaded(data: bytes) -> Any:
    stored = read_pipeline(data)
    pipe = gradiva.Pipeline(batch_size=SIZE, num_threads=2, seed=5)
    sources = {name: partial(GIVEN.__getitem__, name) for name in stored.fed}
    with pipe:
        pipe.set_outputs(*stored.record(sources))
    return pipe


def batches(pipe: Any, count: int = 3) -> list[Any]:
    with_pipe = [bits(pipe.run()) for _ in range(count)]
    pipe.close()
    return with_pipe


def draws(x: Any, y: Any) -> Any:
    before = fn.random.uniform()
    if x > 1:
        z = fn.random.uniform(range=[2.0, 3.0])
        if y:
            z = z + fn.random.normal(seed=4)
        else:
            z = fn.random.normal(stddev=0.5) - z
    else:
        z = fn.random.normal(mean=x * 1.0) + fn.random.uniform()
    return z, before, fn.random.uniform()


def draws_of_images(x: Any, y: Any) -> Any:
    images = take("images")
    if x > 0:
        images = fn.flip(images, vertical=fn.random.coin_flip())
        images = fn.random_resized_crop(images, size=[6, 5])
    elif y == 1:
        images = fn.resize(images, size=[6, 5])
    else:
        images = fn.random_resized_crop(images, size=[6, 5], seed=9)
    return images


def draws_decide(x: Any, y: Any) -> Any:
    if x > 0:
        if fn.random.coin_flip(dtype=gradiva.bool_):
            y = y + 10
            if fn.random.uniform() > 0.5:
                y = y + 100
        else:
            y = -y
    return y


def draws_unused(x: Any, y: Any) -> Any:
    if x > 0:
        fn.random.uniform()
        y = y + fn.random.uniform()
    else:
        y = fn.random.uniform()
    return y


def arrays(x: Any, y: Any) -> Any:
    table = gradiva.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    if x > 1:
        z = fn.cast(table, dtype=gradiva.int32)
    elif y:
        z = fn.transpose(fn.cast(table, dtype=gradiva.int32), perm=[0, 1])[::-1]
    else:
        z = gradiva.tensor(np.full((2, 3), 7, np.int32))
    return z


def constant_decides(x: Any, y: Any) -> Any:
    one = gradiva.tensor(np.int32(1)) * 1
    if one > 0:
        x = y + 1
    return x


PROGRAMS = [draws, draws_of_images, draws_decide, draws_unused, arrays, constant_decides]


@pytest.mark.parametrize("define", PROGRAMS, ids=lambda define: define.__name__)
def test_same_bits(define: Define) -> None:
    pipe = made(define)
    data = pipe.serialize()
    expected = batches(pipe)
    again = loaded(data)
    second = again.serialize()
    assert batches(again) == expected
    assert batches(loaded(second)) == expected


@pytest.mark.parametrize(
    "typed", few([True, False], True), ids=lambda typed: "typed" if typed else "untyped"
)
@pytest.mark.parametrize("name", few([*FORMS, *OURS], every=5))
def test_forms(name: str, typed: bool) -> None:
    pipe = made({**FORMS, **OURS}[name], typed)
    data = pipe.serialize()
    assert batches(loaded(data), 1) == batches(pipe, 1)


def test_shared_draws_are_refused_with_their_line() -> None:
    def define(x: Any, y: Any) -> Any:
        if x > 1:
            y = y + gradiva.random.uniform()  # here
        else:
            y = y * 1.0
        return y

    with pytest.raises(GradivaError, match=r"random.uniform.*share(.|\n)*# here"):
        made(define).serialize()


def test_anchors_are_not_written() -> None:
    def define(x: Any, y: Any) -> Any:
        if x > 1:
            z = fn.random.uniform()
        else:
            z = 1.0
        return z

    message = parse(made(define).serialize())
    names = [one.name for one in message.op]
    assert names.count("_conditional__Split") == 2  # of the draw and of the constant
    assert names.count("_conditional__Merge") == 1


def stored() -> bytes:
    def define(x: Any, y: Any) -> Any:
        if x > 1:
            if y > 1:
                x = x + y
            else:
                x = x - y
        return x

    data: bytes = made(define).serialize()
    return data


def _of(message: Any, schema: str) -> list[Any]:
    return [one for one in message.op if one.name == f"_conditional__{schema}"]


def _predicate(one: Any) -> Any:
    return next(edge for edge in one.input if edge.is_argument_input)


def no_predicate(message: Any) -> None:
    one = _of(message, "Split")[0]
    one.input.remove(_predicate(one))


def no_predicate_of_merge(message: Any) -> None:
    one = _of(message, "Merge")[0]
    one.input.remove(_predicate(one))


def other_argument(message: Any) -> None:
    _predicate(_of(message, "Split")[0]).arg_name = "condition"


def one_side(message: Any) -> None:
    del _of(message, "Split")[0].output[1]


def three_sides(message: Any) -> None:
    message.op.add().CopyFrom(_of(message, "Merge")[0])
    message.op[-1].input.add(name="x")
    message.op[-1].output[0].name = "more"


def swapped_sides(message: Any) -> None:
    one = _of(message, "Merge")[0]
    one.input[0].name, one.input[1].name = one.input[1].name, one.input[0].name


def whole_batch_merged(message: Any) -> None:
    _of(message, "Merge")[0].input[0].name = "x"


def mixed_branches(message: Any) -> None:
    sums = [one for one in message.op if one.name == "_ArithmeticGenericOp" and len(one.input) == 2]
    sums[0].input[0].name = "x"


def branch_as_output(message: Any) -> None:
    message.pipe_outputs[0].name = _of(message, "Split")[0].output[0].name


def circle(message: Any) -> None:
    first, last = _of(message, "Split")[0], _of(message, "Merge")[-1]
    _predicate(first).name = last.output[0].name


def stray(message: Any) -> None:
    _of(message, "Split")[0].args.add(name="depth", type="int64", is_vector=False).ints.append(1)


@pytest.mark.parametrize(
    "damage",
    [
        no_predicate,
        no_predicate_of_merge,
        other_argument,
        one_side,
        three_sides,
        swapped_sides,
        whole_batch_merged,
        mixed_branches,
        branch_as_output,
        circle,
        stray,
    ],
    ids=lambda damage: damage.__name__,
)
def test_damaged_files_are_refused(damage: Callable[[Any], None]) -> None:
    with pytest.raises(GradivaError):
        loaded(change(stored(), damage))


def constant_in_file(message: Any) -> None:
    made = message.op.add(name="Constant", inst_name="c")
    made.args.add(name="idata", type="int64", is_vector=True).ints.append(1)
    made.args.add(name="dtype", type="int64", is_vector=False).ints.append(6)
    made.args.add(name="shape", type="int64", is_vector=True)
    made.output.add(name="c", device="cpu")
    decides = _predicate(_of(message, "Split")[0]).name
    for one in message.op:
        for edge in one.input:
            if edge.is_argument_input and edge.name == decides:
                edge.name = "c"


def test_a_constant_may_decide() -> None:
    def define(x: Any, y: Any) -> Any:
        if x > 1:
            x = y
        return x

    pipe = loaded(change(made(define).serialize(), constant_in_file))
    (result,) = pipe.run()
    assert [int(result.at(i)) for i in range(SIZE)] == [int(value) for value in Y]
