"""`get_property`: what is known about a sample beside its values, as data."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.gpu.copies import sample_launches


@op.operator("get_property", bfloat16=True)
def get_property(
    input: op.SampleType, /, *, key: str, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """A property of each sample, as the bytes of its text: uint8, 1-D.

    key: "source_info", the file or key the sample came from, or "layout"; empty where there is
    none. Raises OperatorValueError for another key.
    """
    if key not in ("source_info", "layout"):
        raise op.OperatorValueError(
            argument="key", expected="'source_info' or 'layout'", got=repr(key)
        )
    return op.SampleType(op.uint8, 1, "", input.device)


def _texts(call: op.Call) -> list[bytes]:
    batch: op.Batch = call.inputs[0]
    if call["key"] == "layout":
        return [str(batch.type.layout or "").encode()] * call.size
    return [text.encode() for text in batch.source_info()]


get_property.metadata = True


@get_property.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    return np.array([len(text) for text in _texts(call)], np.int64).reshape(-1, 1)


@get_property.cpu
def _cpu(call: op.Call) -> None:
    for target, text in zip(call.outputs[0].arrays(), _texts(call), strict=True):
        target[...] = np.frombuffer(text, np.uint8)


@get_property.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    texts = np.frombuffer(b"".join(_texts(call)), np.uint8)
    lengths = call.outputs[0].geometry.volumes
    return sample_launches(texts, lengths.cumsum() - lengths, call)


@get_property.cases
def _cases() -> list[op.Case]:
    images = op.samples((3, 4, 3), (5, 1, 3))
    letters = np.frombuffer(b"HWC", np.uint8)
    nothing = np.empty(0, np.uint8)
    return [
        op.case("layout", images, key="layout").equals([letters, letters]),
        op.case("source", images, key="source_info").equals([nothing, nothing]),
        op.case("no layout", op.samples((3,), layout=""), key="layout").equals([nothing]),
        op.case("empty", op.samples(), key="layout").equals([]),
        op.case("unknown", images, key="colour").value_error("layout"),
    ]
