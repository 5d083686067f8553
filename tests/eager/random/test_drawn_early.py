"""Random values that were drawn eagerly: an error where they reach a graph, whichever way."""

from __future__ import annotations

import copy
import linecache
import operator as python
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, capture, fn, pipeline_def, types
from gradiva.auto_aug import core
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from tests.tiers import few

PIXELS = np.arange(4 * 6 * 8 * 3, dtype=np.uint8).reshape(4, 6, 8, 3)


def images() -> Any:
    """Unrandom images, in a batch."""
    return gradiva.as_batch(PIXELS, layout="HWC")


def image() -> Any:
    """An unrandom image."""
    return gradiva.as_tensor(PIXELS[0], layout="HWC")


def refused(body: Callable[[Any], Any], conditionals: bool = False) -> str:
    """What the error says of a pipeline with this body, which is called with images."""

    @pipeline_def(batch_size=4, num_threads=1, enable_conditionals=conditionals)
    def pipeline() -> Any:
        return body(fn.external_source(source=[PIXELS], layout="HWC"))

    with pytest.raises(gradiva.OperatorValueError) as caught:
        pipeline().build()
    return str(caught.value)


def refused_output(value: Any) -> str:
    """What the error says of a pipeline that returns this value."""
    return refused(lambda batch: (batch, value))


def run(body: Callable[[Any], Any]) -> Any:
    """The first output of a pipeline with this body."""
    pipe = gradiva.Pipeline(batch_size=4, num_threads=1)
    with pipe:
        pipe.set_outputs(body(fn.external_source(source=[PIXELS], layout="HWC")))
    made = np.asarray(pipe.run()[0])
    pipe.close()
    return made


SCRIPT = """\
import gradiva
from gradiva import fn, pipeline_def
flip = gradiva.random.coin_flip()
turned = ~flip + 2
@pipeline_def(batch_size=4, num_threads=1)
def training(pixels):
    images = fn.external_source(source=[pixels], layout="HWC")
    return fn.flip(images, horizontal=turned)
training(pixels).build()
"""


def test_the_error_names_both_lines_and_what_to_do() -> None:
    name = "drawn_early_script.py"
    linecache.cache[name] = (len(SCRIPT), None, SCRIPT.splitlines(True), name)
    with pytest.raises(gradiva.OperatorValueError) as caught:
        exec(compile(SCRIPT, name, "exec"), {"__name__": "script", "pixels": PIXELS})
    text = str(caught.value)
    assert "flip: argument `horizontal`: " in text
    assert f"{name}:3, in <module>: flip = gradiva.random.coin_flip()" in text, "where it was drawn"
    last = text.splitlines()[-1]
    assert last == f"  at {name}:8, in training: return fn.flip(images, horizontal=turned)"
    assert "inside of the pipeline definition" in text
    assert "types.Constant(value)" in text


DRAWS: dict[str, Callable[[], Any]] = {
    "dynamic, tensor": lambda: gradiva.random.uniform(range=(0.0, 1.0)),
    "batch": lambda: gradiva.random.coin_flip(batch_size=4),
    "explicit seed": lambda: gradiva.random.normal(seed=3),
    "own generator": lambda: gradiva.random.uniform(rng=gradiva.random.RNG(4)),
    "vector": lambda: gradiva.random.beta(shape=2, alpha=2.0, beta=3.0),
    "choice": lambda: gradiva.random.choice([3, 4, 5]),
    "noise": lambda: gradiva.noise.gaussian(image(), stddev=3.0),
    "noise of a batch": lambda: fn.noise.salt_and_pepper(images(), prob=0.4),
    "jitter": lambda: gradiva.jitter(image()),
    "several outputs": lambda: gradiva.segmentation.random_object_bbox(
        gradiva.as_tensor(np.ones((5, 5), np.int32))
    )[0],
    "window": lambda: gradiva.random_resized_crop(image(), size=(4, 4)),
    "class": lambda: gradiva.ops.random.CoinFlip()(batch_size=4),
    "inside of a step": lambda: _in_a_step(4),
    "deferred": lambda: _deferred(lambda: gradiva.random.uniform() + 1.0),
    "deferred batch": lambda: _deferred(lambda: gradiva.random.uniform(batch_size=4)),
}


def _in_a_step(size: int) -> Any:
    with gradiva.step(0, size):
        return gradiva.random.uniform(batch_size=size)


def _deferred(make: Callable[[], Any]) -> Any:
    with EvalMode.deferred:
        return make()


@pytest.mark.parametrize("name", few(DRAWS, *list(DRAWS)[:4], *list(DRAWS)[11:]))
def test_draws(name: str) -> None:
    """Every kind of random value, as an input and as an output."""
    value = DRAWS[name]()
    text = refused(lambda batch: batch + value)
    assert "add: input 1: " in text
    assert "test_drawn_early.py" in text
    assert "output 1: " in refused_output(value)


def _uniform(low: float = 1.0, high: float = 2.0, **options: Any) -> Any:
    return gradiva.random.uniform(range=(low, high), **options)


def _index() -> Any:
    return gradiva.random.coin_flip()


def _compiled(size: int | None = None) -> Any:
    return capture.compile(lambda x: x * gradiva.random.uniform(batch_size=size))


def _scaled_later(value: Any) -> Any:
    with EvalMode.deferred:
        return value * 2.0 + 1.0


def _doubled(value: Any) -> Any:
    return gradiva.python_function(value, function=lambda array: array * 2)


DERIVED: dict[str, Callable[[], Any]] = {
    "arithmetic": lambda: 3 - _uniform() * 2.0,
    "array on the left": lambda: np.float32(2) * _uniform(),
    "with something unrandom": lambda: image() + _uniform(),
    "number of a list": lambda: gradiva.as_tensor(np.ones(2, np.float32)) * [_uniform(), 1.0],
    "unary": lambda: ~_index(),
    "comparison": lambda: _uniform() > 0.5,
    "cast": lambda: gradiva.cast(_uniform(), dtype=gradiva.int32),
    "math": lambda: gradiva.math.sqrt(_uniform()),
    "reduction": lambda: gradiva.reductions.sum(_uniform(shape=3)),
    "an argument": lambda: gradiva.flip(image(), horizontal=_index()),
    "an argument per sample": lambda: gradiva.flip(
        images(), horizontal=gradiva.random.coin_flip(batch_size=4)
    ),
    "an argument that is one for all": lambda: gradiva.crop(
        image(), crop=(2, 2), crop_pos_x=_uniform(0.0, 1.0)
    ),
    "an argument of a list": lambda: gradiva.crop(image(), crop=[_index() + 2, 3]),
    "a static argument": lambda: gradiva.cat(image(), image(), axis=_index()),
    "random anchors": lambda: gradiva.slice(
        image(), _uniform(0.0, 0.4, shape=2), gradiva.as_tensor([0.5, 0.5]), axes=(0, 1)
    ),
    "a part": lambda: _uniform(shape=3)[1],
    "a part of each": lambda: _uniform(shape=3, batch_size=4).slice[1:],
    "at a random index": lambda: image()[_index()],
    "from a random index on": lambda: image()[_index() :, :3],
    "each at a random index": lambda: images().slice[_index()],
    "a random sample": lambda: images().select(_index()),
    "some samples": lambda: _uniform(batch_size=4).select([1, 3]),
    "one sample": lambda: _uniform(batch_size=4).select(2),
    "the samples": lambda: _uniform(batch_size=4).tensors[3],
    "iteration over a batch": lambda: next(iter(_uniform(batch_size=4))),
    "iteration over a tensor": lambda: next(iter(_uniform(shape=3))),
    "python function": lambda: _doubled(_uniform()),
    "stack": lambda: gradiva.stack(_uniform(), gradiva.as_tensor(1.0)),
    "shape": lambda: gradiva.zeros(shape=[_index() + 1, 2]),
    "reshape": lambda: gradiva.reshape(_uniform(shape=4), shape=[2, 2]),
    "permuted": lambda: gradiva.permute_batch(
        images(), indices=gradiva.batch_permutation(batch_size=4)
    ),
    "as_tensor": lambda: gradiva.as_tensor(_uniform(), dtype=gradiva.float64),
    "as_tensor of a batch": lambda: gradiva.as_tensor(_uniform(batch_size=4)),
    "as_tensor of a list": lambda: gradiva.as_tensor([_uniform(), _uniform()]),
    "tensor": lambda: gradiva.tensor(_uniform()),
    "tensor, padded": lambda: gradiva.tensor([_uniform(shape=1), _uniform(shape=2)], pad=True),
    "batch": lambda: gradiva.batch([_uniform() for _ in range(4)]),
    "batch of a batch": lambda: gradiva.batch(_uniform(batch_size=4), dtype=gradiva.float64),
    "batch of a tensor": lambda: gradiva.as_batch(_uniform(shape=4)),
    "broadcast": lambda: Batch.broadcast(_uniform(), 4),
    "as a pipeline hands out": lambda: gradiva.tensors.TensorListCPU(_uniform(batch_size=4)),
    "its first sample": lambda: gradiva.tensors.TensorListCPU(_uniform(batch_size=4))[0],
    "as one tensor": lambda: gradiva.tensors.TensorListCPU(_uniform(batch_size=4)).as_tensor(),
    "tensor as a pipeline hands out": lambda: gradiva.tensors.TensorCPU(_uniform()),
    "to_device": lambda: _uniform(batch_size=4).to_device("cpu", force_copy=True),
    "cpu": lambda: _uniform().to_device("cpu", force_copy=True).cpu(),
    "evaluate": lambda: _uniform().evaluate(),
    "copy": lambda: copy.copy(_uniform(batch_size=4)),
    "deepcopy": lambda: copy.deepcopy(_uniform()),
    "pickle": lambda: pickle.loads(pickle.dumps(_uniform(batch_size=4))),
    "pickled tensor": lambda: pickle.loads(pickle.dumps(_uniform())),
    "compiled, of a random input": lambda: capture.compile(gradiva.flip)(
        gradiva.noise.gaussian(images())
    ),
    "compiled, of random values": lambda: _compiled(4)(images()),
    "compiled, a tensor": lambda: _compiled()(image()),
    "deferred, of a random input": lambda: _scaled_later(_uniform()),
    "deferred, evaluated": lambda: _scaled_later(_uniform()).evaluate(),
    "deferred, at a random index": lambda: _deferred(lambda: image()[_index()]),
    "selected": lambda: core.select([gradiva.flip, lambda x: x], _index(), images()),
    "selected per sample": lambda: core.select(
        [lambda x: x + 1, lambda x: x + 2], gradiva.random.coin_flip(batch_size=4), images()
    ),
    "selected, the same": lambda: core.select(
        [lambda x: x, lambda x: x],
        gradiva.random.coin_flip(batch_size=4, probability=1.0),
        images(),
    ),
    "augmented": lambda: gradiva.auto_aug.trivial_augment.trivial_augment_wide(images(), seed=1),
}


@pytest.mark.parametrize(
    "name", few(DERIVED, *[name for name in DERIVED if name != "augmented"][::4])
)
def test_derived_values_carry_the_mark(name: str) -> None:
    value = DERIVED[name]()
    assert isinstance(value, Batch | Tensor)
    assert "types.Constant(value)" in refused_output(value)


UNRANDOM: dict[str, Callable[[], Any]] = {
    "never drawn": lambda: image() + 1,
    "numpy": lambda: gradiva.as_tensor(np.asarray(_uniform()) + 1),
    "as_array": lambda: gradiva.as_tensor(_uniform(batch_size=4).as_array()),
    "a Python number": lambda: gradiva.as_tensor(float(_uniform())),
    "item": lambda: gradiva.as_tensor([_uniform().item()]),
    "Constant": lambda: types.Constant(_uniform()),
    "Constant of a batch": lambda: types.Constant(_uniform(batch_size=4)),
    "DLPack": lambda: gradiva.as_tensor(np.from_dlpack(_uniform())),
    "the input of a random operator": lambda: _kept(gradiva.noise.gaussian),
    "what was given to a compiled function": lambda: _kept(_flipped(_zero())),
    "what was selected at random": lambda: _kept(lambda x: core.select([lambda y: y], _zero(), x)),
}


def _zero() -> Any:
    return gradiva.random.coin_flip(probability=0.0)


def _flipped(chosen: Any) -> Any:
    return capture.compile(lambda x: gradiva.flip(x, horizontal=chosen))


def _kept(function: Callable[[Any], Any]) -> Any:
    whole = images()
    function(whole)
    return whole.tensors[0]


@pytest.mark.parametrize("name", UNRANDOM)
def test_what_is_not_random_or_was_exported_is_no_error(name: str) -> None:
    value = UNRANDOM[name]()
    expected = np.broadcast_to(np.asarray(value), (4, *value.shape))
    assert np.array_equal(run(lambda _: value), expected)


def test_a_constant_that_is_meant() -> None:
    """Both ways that the error names, as input and as argument, outside and inside."""
    flip = gradiva.random.coin_flip(probability=1.0)
    mirrored = PIXELS[:, :, ::-1]
    for constant in (types.Constant(flip), np.asarray(flip), int(flip), bool(flip), flip.item()):
        chosen = constant
        assert np.array_equal(run(lambda x: fn.flip(x, horizontal=chosen)), mirrored)  # noqa: B023
        assert np.array_equal(run(lambda x: x * chosen), PIXELS)  # noqa: B023
    inside = run(lambda x: fn.flip(x, horizontal=types.Constant(flip)))
    assert np.array_equal(inside, mirrored)


ENTRIES: dict[str, Callable[[Any, Any], Any]] = {
    "input": lambda batch, flip: fn.cat(batch, batch, flip),
    "arithmetic": lambda batch, flip: batch * flip,
    "on the left": lambda batch, flip: flip * batch,
    "comparison": lambda batch, flip: batch == flip,
    "in a list": lambda batch, flip: batch * [flip, flip, 1],
    "argument": lambda batch, flip: fn.flip(batch, horizontal=flip),
    "static argument": lambda batch, flip: fn.cat(batch, batch, axis=flip),
    "one of several numbers": lambda batch, flip: fn.crop(batch, crop=[flip + 2, 3]),
    "a tuple in an argument": lambda batch, flip: fn.crop(batch, crop=(3, flip)),
    "seed": lambda batch, flip: fn.noise.gaussian(batch, seed=flip),
    "index": lambda batch, flip: batch[flip],
    "range": lambda batch, flip: batch[:, flip:],
    "step of a range": lambda batch, flip: batch[:, :: flip + 1],
    "slice": lambda batch, flip: batch.slice[0, flip],
    "index of a constant": lambda batch, flip: batch + image()[flip],
    "output": lambda _, flip: flip,
    "class": lambda batch, flip: gradiva.ops.Flip(horizontal=flip)(batch),
    "dynamic name": lambda batch, flip: gradiva.flip(batch, horizontal=flip),
    "selection": lambda batch, flip: core.select([gradiva.flip, gradiva.jitter], flip, batch),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_entries(name: str) -> None:
    """Every way into a graph."""
    flip = gradiva.random.coin_flip()
    text = refused(lambda batch: ENTRIES[name](batch, flip))
    assert "flip = gradiva.random.coin_flip()" in text


def _if(batch: Any, flip: Any) -> Any:
    if flip:
        return fn.flip(batch)
    return batch


def _if_not(batch: Any, flip: Any) -> Any:
    return fn.flip(batch) if not flip else batch


def _if_both(batch: Any, flip: Any) -> Any:
    return fn.flip(batch) if flip and batch[0, 0, 0] == 0 else batch


def _merged(batch: Any, flip: Any) -> Any:
    if batch[0, 0, 0] == 0:
        amount = flip
    else:
        amount = 0
    return batch + amount


@pytest.mark.parametrize("body", [_if, _if_not, _if_both, _merged])
def test_conditionals(body: Callable[[Any, Any], Any]) -> None:
    """With conditionals `if` would be about each sample: a branch that is taken once and for all
    is the same silent constant."""
    flip = gradiva.random.coin_flip()
    assert "flip = gradiva.random.coin_flip()" in refused(lambda batch: body(batch, flip), True)


def test_conditionals_in_callbacks_are_plain_python() -> None:
    def define() -> Any:
        def callback(array: Any) -> Any:
            coin = gradiva.random.coin_flip(probability=1.0)
            return array + 1 if coin else array

        batch = fn.external_source(source=[PIXELS], layout="HWC")
        return fn.python_function(batch, function=callback)

    pipe = pipeline_def(batch_size=4, num_threads=1, enable_conditionals=True)(define)()
    assert np.array_equal(np.asarray(pipe.run()[0]), PIXELS + 1)
    pipe.close()


def test_with_pipe_and_a_module() -> None:
    flip = gradiva.random.coin_flip()
    pipe = gradiva.Pipeline(batch_size=4, num_threads=1)
    with pipe:
        batch = fn.external_source(source=[PIXELS], layout="HWC")
        with pytest.raises(gradiva.OperatorValueError, match="coin_flip"):
            fn.flip(batch, horizontal=flip)
        inside = fn.flip(batch, horizontal=fn.random.coin_flip(probability=1.0))
        pipe.set_outputs(inside)
    assert np.array_equal(np.asarray(pipe.run()[0]), PIXELS[:, :, ::-1])
    pipe.close()
    with pytest.raises(gradiva.OperatorValueError, match="coin_flip"):
        gradiva.Pipeline(batch_size=4, num_threads=1).set_outputs(flip)


def test_traced_functions() -> None:
    """The examples that `trace` is called with are data; what the function closes over is not."""
    noisy, amount = gradiva.noise.gaussian(images()), gradiva.random.uniform()
    graph = capture.trace(lambda x, y: x + y, noisy, amount)
    assert "input(number=1)" in str(graph)
    with pytest.raises(gradiva.OperatorValueError, match="amount"):
        capture.trace(lambda x: x + amount, noisy)
    with pytest.raises(gradiva.OperatorValueError, match="amount"):
        capture.trace(lambda x, y: x + y, noisy, y=amount)


def test_data_are_data() -> None:
    """What is fed may be random: to sources, to `feed_input`, to compiled functions, to loops."""
    noisy = gradiva.noise.gaussian(images(), seed=3)
    expected = np.asarray(gradiva.flip(noisy))
    pipe = gradiva.Pipeline(batch_size=4, num_threads=1)
    with pipe:
        listed = fn.external_source(source=[noisy], layout="HWC")
        called = fn.external_source(source=lambda: noisy, layout="HWC")
        fed = fn.external_source(name="fed", layout="HWC")
        pipe.set_outputs(*map(fn.flip, (listed, called, fed)), listed)
    pipe.feed_input("fed", noisy)
    first, second, third, same = pipe.run()
    for made in (first, second, third):
        assert np.array_equal(np.asarray(made), expected)
    # What a pipeline hands out is data as well.
    assert np.array_equal(run(lambda _: same[0]), np.asarray(noisy)[[0] * 4])
    pipe.close()
    amount = gradiva.random.uniform(batch_size=4)
    moved = np.asarray(gradiva.flip(noisy) + amount)
    compiled = capture.compile(lambda x: gradiva.flip(x) + amount)
    assert np.array_equal(np.asarray(compiled(noisy)), moved)
    source = gradiva.ExternalSource(source=[noisy, noisy])
    for batch in source.captured(4):
        assert np.array_equal(np.asarray(gradiva.flip(batch) + amount), moved)


def test_captured_loops(photographs: Path) -> None:
    """In a loop random values are values; where one reaches a graph that is recorded there, or
    later, it is an error, in the first step and in those that were computed ahead."""
    outside = gradiva.random.uniform()
    reader = gradiva.readers.File(file_root=str(photographs))
    seen: list[Any] = []
    for files, _ in reader.next_epoch(batch_size=2, capture=True):
        decoded = gradiva.resize(gradiva.decoders.image(files), size=(4, 4))
        plain = gradiva.cast(decoded, dtype=gradiva.int16)
        noisy = gradiva.noise.gaussian(plain)
        late = plain * outside
        drawn = gradiva.random.uniform(batch_size=2)
        for value in (noisy, noisy.select(0), late, drawn, gradiva.flip(noisy).tensors[0]):
            assert "test_drawn_early.py" in refused_output(value)
        first = plain.tensors[0]
        assert np.array_equal(run(lambda _: first), np.asarray(plain)[[0] * 4])  # noqa: B023
        seen.append(noisy)
    assert len(seen) == 4
    for value in seen:
        assert "gradiva.noise.gaussian(plain)" in refused_output(value)


def test_the_mark_is_no_part_of_a_value() -> None:
    """It changes nothing but what graphs say of the value."""
    random, plain = gradiva.random.coin_flip(probability=1.0), gradiva.as_tensor(np.int32(1))
    whole = gradiva.as_tensor(np.arange(6).reshape(2, 3), layout="HW")
    one, other = whole[random], whole[plain]
    assert (one.layout, one.dtype, one.shape) == (other.layout, other.dtype, other.shape)
    assert np.array_equal(one, other)
    assert np.array_equal(whole[random == 1], whole[plain == 1])
    for wrong, kind in ((random * 9, IndexError), (random * 1.0, TypeError)):
        with pytest.raises((kind, gradiva.GradivaError)):
            python.getitem(whole, wrong)
    assert repr(random) == repr(plain)
