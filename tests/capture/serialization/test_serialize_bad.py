"""Stored pipelines that are none, or are damaged, or come from elsewhere: clear errors only."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import fn, types
from gradiva.capture.serialization.proto import pipeline_message
from gradiva.capture.serialization.reader import read_pipeline
from tests.capture.serialization.stored import again, body, change, feed, pipeline, text_of
from tests.tiers import examples

BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "unknown": (lambda m: setattr(m.op[1], "name", "Zork"), "no operator for `Zork`"),
    "internal": (lambda m: setattr(m.op[1], "name", "random_key"), "no operator for"),
    "nameless": (lambda m: m.op[1].ClearField("name"), "has no name"),
    "dangling": (lambda m: setattr(m.op[1].input[0], "name", "nothing"), "makes 'nothing'"),
    "cycle": (lambda m: setattr(m.op[1].input[0], "name", "window"), "its own output"),
    "no outputs": (lambda m: m.ClearField("pipe_outputs"), "no outputs"),
    "output": (lambda m: setattr(m.pipe_outputs[0], "name", "zork"), "output 'zork'"),
    "gpu": (lambda m: setattr(m.op[1].input[0], "device", "gpu"), "on the GPU"),
    "device": (lambda m: text_of(m.op[1], "device", "tpu"), "an unknown device"),
    "device of output": (lambda m: setattr(m.pipe_outputs[0], "device", "x"), "unknown device"),
    "argument on a gpu": (
        lambda m: m.op[1].input.add(
            name=m.op[0].output[0].name, device="gpu", is_argument_input=True, arg_name="crop_w"
        ),
        "`crop_w` of `Crop` (window) is on the GPU",
    ),
    "batch size": (lambda m: setattr(m, "batch_size", 0), "`batch_size`"),
    "threads": (lambda m: setattr(m, "num_threads", 1 << 60), "`num_threads`"),
    "queue": (lambda m: setattr(m, "prefetch_queue_depth_cpu", -1), "prefetch_queue_depth_cpu"),
    "argument": (lambda m: text_of(m.op[1], "zork", "x"), "no argument `zork`"),
    "argument type": (lambda m: text_of(m.op[1], "crop_pos_y", "x"), "`crop_pos_y`"),
    "argument twice": (lambda m: m.op[1].args.add().CopyFrom(m.op[1].args[1]), "twice"),
    "no value": (lambda m: m.op[1].args.add(name="crop_h", is_vector=False), "no single value"),
    "outputs": (lambda m: m.op[1].output.add(name="more"), "number of outputs"),
    "same output": (lambda m: m.op[0].output.add(name=m.op[1].output[0].name), "two operators"),
    "inputs": (lambda m: m.op[1].input.add(name=m.op[0].output[0].name), "expected 1 input"),
    "no input": (lambda m: m.op[1].ClearField("input"), "expected 1 input"),
    "per sample": (
        lambda m: m.op[1].input.add(
            name=m.op[0].output[0].name, is_argument_input=True, arg_name="rounding"
        ),
        "per sample",
    ),
    "expression": (lambda m: text_of(m.op[2], "expression_desc", "zork(&0)"), "`zork`"),
    "nested": (lambda m: text_of(m.op[2], "expression_desc", "abs(abs(&0))"), "no expression"),
    "operand": (lambda m: text_of(m.op[2], "expression_desc", "mul(&0 &7)"), "'&7'"),
    "constant": (lambda m: text_of(m.op[2], "expression_desc", "mul(&0 $9:int32)"), "is not there"),
    "dtype": (lambda m: text_of(m.op[2], "expression_desc", "mul(&0 $0:zork)"), "zork"),
    "axes": (lambda m: text_of(m.op[3], "num_subscripts", 1 << 60), "num_subscripts"),
    "step": (lambda m: text_of(m.op[3], "step_0", 0), "must not be 0"),
    "index": (lambda m: text_of(m.op[3], "at_0", "x"), "an integer"),
    "shape": (lambda m: text_of(m.op[4], "shape", [1 << 40, 1 << 40]), "`shape`"),
    "negative": (lambda m: text_of(m.op[4], "shape", [-1]), "`shape`"),
    "data": (lambda m: text_of(m.op[4], "idata", "x"), "no numbers"),
    "both": (lambda m: text_of(m.op[4], "fdata", 1.0), "`idata` or `fdata`"),
    "constant type": (lambda m: text_of(m.op[4], "dtype", 99), "99"),
    "layout": (lambda m: text_of(m.op[0], "layout", "zz"), "layout"),
    "rank": (lambda m: text_of(m.op[0], "ndim", 1 << 50), "`ndim`"),
    "source type": (lambda m: text_of(m.op[0], "dtype", -7), "number"),
}


@cache
def sample() -> bytes:
    def build() -> Any:
        images = fn.crop(feed(ndim=3, dtype=types.UINT8), crop=(2, 2), name="window")
        return images * 3, images[1:, 0], images + np.array([1, 2, 3], np.int16)

    return pipeline(build).serialize()


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name: str) -> None:
    edit, problem = BAD[name]
    with pytest.raises(gradiva.GradivaError, match=re.escape(problem)) as caught:
        again(read_pipeline(change(sample(), edit)))
    assert isinstance(caught.value, ValueError)


def test_older_files() -> None:
    """Older names of operators, inputs without an operator, vectors without elements."""

    def edit(message: Any) -> None:
        del message.op[0]
        message.external_inputs.append("x")
        message.ClearField("executor_type")
        for argument in message.op[0].args:
            if argument.name == "crop":
                argument.floats.extend([2, 2])
                argument.ClearField("extra_args")

    stored = read_pipeline(change(sample(), edit))
    assert stored.fed == ("x",)
    assert stored.options.exec_async
    assert stored.operators[1].arguments["crop"] == [2.0, 2.0]
    renamed = change(
        pipeline(fn.random.coin_flip).serialize(),
        lambda message: setattr(message.op[0], "name", "CoinFlip"),
    )
    assert "random.coin_flip" in body(again(read_pipeline(renamed)))


def test_order_of_a_file_does_not_matter() -> None:
    def edit(message: Any) -> None:
        operators = [type(one).FromString(one.SerializeToString()) for one in message.op]
        message.ClearField("op")
        message.op.extend(reversed(operators))

    assert len(again(read_pipeline(change(sample(), edit))).graph.outputs) == 3


def survives(data: bytes) -> None:
    """The bytes make a graph, or an OperatorValueError."""
    try:
        pipe = again(read_pipeline(data))
    except gradiva.OperatorValueError:
        return
    assert pipe.graph.outputs
    try:
        stored = pipe.serialize()
    except gradiva.OperatorValueError as error:
        # Names may be there twice in a file that comes from elsewhere; edges are not.
        assert "two operators called" in error.problem  # noqa: PT017
        return
    again(read_pipeline(stored))


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    survives(data)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_damaged_bytes(data: st.DataObject) -> None:
    stored = bytearray(sample())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(stored) - 1))
        kind = data.draw(st.sampled_from(["change", "cut", "drop", "insert"]))
        if kind == "change":
            stored[place] = data.draw(st.integers(0, 255))
        elif kind == "cut" and place:
            del stored[place:]
        elif kind == "drop" and len(stored) > 9:
            del stored[place : place + data.draw(st.integers(1, 8))]
        else:
            stored[place:place] = data.draw(st.binary(min_size=1, max_size=8))
    survives(bytes(stored))


def test_every_cut() -> None:
    data = sample()
    for end in range(0, len(data), 7):
        survives(data[:end])


@settings(max_examples=examples(400, 10), deadline=None)
@given(st.data())
def test_changed_fields(data: st.DataObject) -> None:
    """Messages that are whole, and say something else."""
    texts = st.sampled_from(
        [
            "",
            "x",
            "cpu",
            "gpu",
            "window",
            "dtype",
            "axes",
            "at_0",
            "shape",
            "Constant",
            "Flip",
            "random__Uniform",
            "readers__File",
            "ExpandDims",
            "Reinterpret",
            "_TensorSubscript",
            "name",
            "preserve",
            "seed",
            "_ArithmeticGenericOp",
            "mul(&0 $0:int32)",
            "HWC",
            "layout",
        ]
    ) | st.text(max_size=5)
    values = {
        "string": texts,
        "int": st.integers(-3, 40) | st.sampled_from([-(1 << 31), (1 << 31) - 1]),
        "bool": st.booleans(),
        "float": st.floats(width=32),
    }

    def edit(message: Any) -> None:
        for _ in range(data.draw(st.integers(1, 3))):
            part = message
            while True:
                inside = [
                    one
                    for field, value in part.ListFields()
                    if field.message_type is not None
                    for one in value
                ]
                if not inside or not data.draw(st.sampled_from([True, True, True, False])):
                    break
                part = data.draw(st.sampled_from(inside))
            fields = [one for one in part.DESCRIPTOR.fields if one.message_type is None]
            field = data.draw(st.sampled_from(fields))
            kinds = {1: "float", 2: "float", 8: "bool", 9: "string"}
            value = data.draw(values[kinds.get(field.type, "int")])
            if field.name in ("floats", "ints", "strings", "bools", "external_inputs"):
                part.ClearField(field.name)
                getattr(part, field.name).append(value)
            else:
                setattr(part, field.name, value)

    survives(change(sample(), edit))


def test_fields_of_later_versions_are_passed_over() -> None:
    assert len(read_pipeline(sample() + b"\xd2\x3e\x01x").outputs) == 3


def test_a_known_field_of_another_type_is_not() -> None:
    # The operators, field 5, as a number.
    with pytest.raises(ValueError, match="`op` of a PipelineDef is stored as another type"):
        read_pipeline(sample() + b"\x28\x05")


def test_missing_fields_are_named() -> None:
    with pytest.raises(ValueError, match="lacks the field `batch_size`"):
        read_pipeline(b"")
    with pytest.raises(ValueError, match=r"lacks the field .*is_vector"):
        read_pipeline(b"\x10\x02\x2a\x06\x22\x04\x0a\x02ab")


def test_nothing_but_data_is_as_large_as_it_says() -> None:
    message = pipeline_message()
    message.batch_size = 2
    made = message.op.add(name="Constant")
    for name, value in (("idata", [1]), ("shape", [1 << 13, 1 << 14]), ("dtype", 7)):
        text_of(made, name, value)
    made.output.add(name="x")
    message.pipe_outputs.add(name="x")
    with pytest.raises(ValueError, match="`shape`"):
        again(read_pipeline(message.SerializeToString()))


@cache
def deep() -> bytes:
    """Vectors in vectors in vectors."""
    data = b""
    for _ in range(5000):
        data = b"\x40\x01\x3a" + _varint(len(data)) + data
    argument = b"\x22" + _varint(len(data)) + data
    return b"\x10\x02\x2a" + _varint(len(argument)) + argument


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 128:
        found.append(number % 128 + 128)
        number //= 128
    return bytes([*found, number])


def test_depth_is_limited() -> None:
    with pytest.raises(ValueError, match="cut or damaged"):
        read_pipeline(deep())
