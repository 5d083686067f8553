"""`get_property`: what is known about a sample beside its values, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.cuda.launch import Launch
from gradiva.eager.gpu.pieces import sample_launches
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.dtypes import uint8
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common
    from gradiva.eager.types.batch_shape import Int64Array

__all__ = ["get_property"]


@operator("get_property", bfloat16=True)
def get_property(input: SampleType, /, *, key: str, **common: Unpack[Common]) -> SampleType:
    """A property of each sample, as the bytes of its text: uint8, 1-D.

    key: "source_info", the file or key the sample came from, or "layout"; empty where there is
    none. Raises OperatorValueError for another key.
    """
    if key not in ("source_info", "layout"):
        raise OperatorValueError(
            argument="key", expected="'source_info' or 'layout'", got=repr(key)
        )
    return SampleType(uint8, 1, "", input.device)


def _texts(call: Call) -> list[bytes]:
    batch: Batch = call.inputs[0]
    if call["key"] == "layout":
        return [str(batch.type.layout or "").encode()] * call.size
    return [text.encode() for text in batch.source_info()]


get_property.metadata = True


@get_property.shapes
def _shapes(call: Call) -> Int64Array:
    return np.array([len(text) for text in _texts(call)], np.int64).reshape(-1, 1)


@get_property.cpu
def _cpu(call: Call) -> None:
    for target, text in zip(call.outputs[0].arrays(), _texts(call), strict=True):
        target[...] = np.frombuffer(text, np.uint8)


@get_property.gpu
def _gpu(call: Call) -> list[Launch]:
    texts = np.frombuffer(b"".join(_texts(call)), np.uint8)
    lengths = call.outputs[0].geometry.volumes
    return sample_launches(texts, lengths.cumsum() - lengths, call)


@get_property.cases
def _cases() -> list[Case]:
    images = samples((3, 4, 3), (5, 1, 3))
    letters = np.frombuffer(b"HWC", np.uint8)
    nothing = np.empty(0, np.uint8)
    return [
        case("layout", images, key="layout").equals([letters, letters]),
        case("source", images, key="source_info").equals([nothing, nothing]),
        case("no layout", samples((3,), layout=""), key="layout").equals([nothing]),
        case("empty", samples(), key="layout").equals([]),
        case("unknown", images, key="colour").value_error("layout"),
    ]
