"""What is known of samples: `shapes` and `get_property`."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.gpu_copies import sample_launches

_DTYPES = (op.int64, op.int32, op.uint32, op.uint64, op.float32, op.float64)


@op.operator("shapes", schema="Shapes", bfloat16=True, old_arguments={"type": "dtype"})
def shapes(
    input: op.SampleType, /, *, dtype: op.DTypeLike = op.int64, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Return the shape of each sample: one number per axis.

    Args:
        input: any dtype, rank and layout.
        dtype: int64 (the default), int32, uint32, uint64, float32 or float64. In pipelines
            `DataNode.shape()` is the usual way to write it; a Batch tells its `shape` itself.

    Returns:
        One number per axis, 1-D, of `dtype`.

    Raises:
        OperatorTypeError: for another dtype.

    Example:
        gradiva.shapes(gradiva.imread(["cat.jpg", "coffee.jpg"]))
        # [[300, 451, 3], [400, 600, 3]]
    """
    if dtype not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(d.name for d in _DTYPES), dtype)
    chosen: op.DType = dtype  # type: ignore[assignment]  # one of the above
    return op.SampleType(chosen, 1, "", input.device)


shapes.metadata = True


shapes.shapes(lambda call: op.BatchShape.equal(call.size, (call.inputs[0].ndim,)))


@shapes.cpu
def _shapes_cpu(call: op.Call) -> None:
    call.outputs[0].as_array()[...] = call.inputs[0].batch_shape.shapes


@shapes.gpu
def _shapes_gpu(call: op.Call) -> list[op.Launch]:
    target = call.outputs[0]
    values = call.inputs[0].batch_shape.shapes.astype(target.data.dtype)
    return sample_launches(values, target.batch_shape.offsets, call)


@shapes.cases
def _shapes_cases() -> list[op.Case]:
    ragged = op.samples((3, 4, 3), (5, 1, 3))
    extents = [np.array([3, 4, 3]), np.array([5, 1, 3])]
    return [
        op.case("ragged", ragged).equals(extents).no_oracle(),
        op.case("float", ragged, dtype=op.float32)
        .equals([e.astype(np.float32) for e in extents])
        .no_oracle(),
        op.case("scalars", op.samples((), (), layout=""))
        .equals([np.empty(0, np.int64)] * 2)
        .no_oracle(),
        op.case("empty", op.samples()).equals([]),
        op.case("dtype", ragged, dtype="uint8").type_error("int64"),
    ]


@op.operator("get_property", schema="GetProperty", bfloat16=True)
def get_property(
    input: op.SampleType, /, *, key: str, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Return a property of each sample, such as the file it is from, as the bytes of its text.

    Args:
        input: any dtype, rank and layout.
        key: "source_info", the file or key the sample came from, or "layout"; empty where there is
            none.

    Returns:
        Text as bytes: uint8, 1-D.

    Raises:
        OperatorValueError: for another key.

    Example:
        name = gradiva.get_property(gradiva.imread("cat.jpg"), key="source_info")
        bytes(np.asarray(name))  # b'cat.jpg'
    """
    if key not in ("source_info", "layout"):
        raise op.wrong_value("key", "'source_info' or 'layout'", repr(key))
    return op.SampleType(op.uint8, 1, "", input.device)


def _texts(call: op.Call) -> list[bytes]:
    batch: op.Batch = call.inputs[0]
    if call["key"] == "layout":
        return [str(batch.type.layout or "").encode()] * call.size
    return [text.encode("utf-8", "surrogateescape") for text in batch.source_info()]


get_property.metadata = True
get_property.samplewise = False  # the name of a file is not in its data


@get_property.shapes
def _get_property_shapes(call: op.Call) -> op.Int64Array:
    return np.array([len(text) for text in _texts(call)], np.int64).reshape(-1, 1)


@get_property.cpu
def _get_property_cpu(call: op.Call) -> None:
    for target, text in zip(call.outputs[0].arrays(), _texts(call), strict=True):
        target[...] = np.frombuffer(text, np.uint8)


@get_property.gpu
def _get_property_gpu(call: op.Call) -> list[op.Launch]:
    texts = np.frombuffer(b"".join(_texts(call)), np.uint8)
    lengths = call.outputs[0].batch_shape.volumes
    return sample_launches(texts, lengths.cumsum() - lengths, call)


@get_property.cases
def _get_property_cases() -> list[op.Case]:
    images = op.samples((3, 4, 3), (5, 1, 3))
    letters = np.frombuffer(b"HWC", np.uint8)
    nothing = np.empty(0, np.uint8)
    return [
        op.case("layout", images, key="layout").equals([letters, letters]),
        op.case("source", images, key="source_info").equals([nothing, nothing]),
        op.case("no layout", op.samples((3,), layout=""), key="layout").equals([nothing]),
        op.case("empty", op.samples(), key="layout").equals([]),
        op.case("unknown", images, key="color").value_error("layout"),
    ]
