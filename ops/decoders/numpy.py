"""`decoders.numpy`: arrays from the bytes of npy files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.rows.convert import convert_array
from gradiva.ops.arrays.copy import copy_pieces

from .npy_header import Header, read_header


@op.operator("decoders.numpy", schema="decoders__Numpy")
def numpy(
    input: op.SampleType, /, *, dtype: op.DTypeLike | None = None, **common: op.Unpack[op.Common]
) -> op.SampleType:
    """Decode npy files to arrays.

    Args:
        input: the bytes of one file per sample: int8 or uint8, 1-D. Arrays of booleans, integers
            and floats in either byte order and either order of axes, of format versions 1 to 3.
        dtype: convert to this type (rounding half away from zero, saturating); that of the files by
            default, which is then one for all samples.

    Returns:
        The arrays, whose ranks are equal.

    Raises:
        OperatorRuntimeError: with the sample and its file, for data that is not an npy file, is cut
            or too long, or differs in type or rank.

    Example:
        data = np.fromfile("arrays/0.npy", np.uint8)
        gradiva.decoders.numpy(data).shape  # (6, 8)
    """
    op.require_dtype(input, (op.uint8, op.int8), "encoded data")
    op.require_ndim(input, (1,), "encoded data")
    chosen: Any = dtype
    return op.SampleType(chosen, None, "", input.device)


def _header(file: np.ndarray[Any, Any]) -> Header:
    header = read_header(lambda count: file[:count].tobytes(), file.nbytes)
    if header.end != file.nbytes:
        raise op.SampleDataError(
            "the npy file has another length than its header says",
            expected=f"{header.end} bytes",
            got=file.nbytes,
        )
    return header


@dataclass(frozen=True)
class _NumpyPlan(op.Plan):
    """headers: of each file."""

    headers: list[Header]


@numpy.shapes
def _shapes(call: op.Call) -> _NumpyPlan:
    source = call.inputs[0]
    headers = list[Header]()
    before = b""
    for sample, file in enumerate(source.arrays()):
        last = headers[-1] if headers else None
        if last is not None and file.nbytes == last.end and file[: last.begin].tobytes() == before:
            headers.append(last)  # as usual in a data set
            continue
        try:
            headers.append(_header(file))
        except op.SampleDataError as error:
            raise error.complete(sample=sample) from None
        before = file[: headers[-1].begin].tobytes()
    type = call.types[0]
    alike = all(header[0] is headers[0][0] for header in headers)
    found = [op.DType.from_numpy(header[0]) for header in (headers[:1] if alike else headers)]
    for sample in range(1, call.size):
        if len(headers[sample][2]) != len(headers[0][2]):
            raise op.OperatorRuntimeError(
                "arrays of a batch have one rank",
                expected=f"{len(headers[0][2])}-D",
                got=f"{len(headers[sample][2])}-D",
                sample=sample,
            )
        if type.dtype is None and not alike and found[sample] is not found[0]:
            raise op.OperatorRuntimeError(
                "arrays of a batch have one type, or `dtype` is given",
                expected=found[0].name,
                got=found[sample].name,
                sample=sample,
            )
    dtype = type.dtype or (found[0] if found else op.float32)
    call.types = (type.with_(dtype=dtype),)
    shapes = [header[2] for header in headers]
    table = np.array(shapes, np.int64).reshape(call.size, len(shapes[0]) if shapes else 1)
    return _NumpyPlan(table, headers)


@numpy.cpu
def _cpu(call: op.Call, plan: _NumpyPlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    headers = plan.headers

    native = target.dtype.numpy
    if all(found == native and not fortran for found, fortran, _, _ in headers):
        begins = np.array([header[3] for header in headers], np.int64)
        copy_pieces(call, source.data, source.batch_shape.offsets + begins)
        return

    def decode(sample: int) -> None:
        found, fortran, shape, begin = headers[sample]
        values = source.array(sample).view(np.uint8)[begin:]
        array = np.frombuffer(values, found) if values.size else np.empty(0, found)
        array = array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
        array = array.astype(found.newbyteorder("="), copy=False)
        target.array(sample)[...] = convert_array(array, native)

    call.each_sample(decode)


def _files(*arrays: np.ndarray[Any, Any], version: tuple[int, int] = (1, 0)) -> op.Batch:
    files = []
    for array in arrays:
        stream = io.BytesIO()
        np.lib.format.write_array(stream, array, version)
        files.append(np.frombuffer(stream.getvalue(), np.uint8))
    return op.batch(files)


@numpy.cases
def _cases() -> list[op.Case]:
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5, np.ones((4, 1), np.float32)]
    files = _files(*arrays)
    cube = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    scalar = np.array(7, np.int64)
    return [
        op.case("default", files).equals(arrays),
        op.case("converted", files, dtype=op.int16).equals(
            [np.array([[-3, -2, -1], [1, 2, 3]], np.int16), arrays[1].astype(np.int16)]
        ),
        op.case("Fortran", _files(np.asfortranarray(cube))).equals([cube]).no_oracle(),
        op.case("other byte order", _files(cube.astype(">i2"), version=(2, 0)))
        .equals([cube])
        .no_oracle(),
        op.case("a scalar", _files(scalar)).equals([scalar]),
        op.case("no values", _files(cube[:0], cube)).equals([cube[:0], cube]),
        op.case("empty", op.samples(layout=""), dtype=op.float32).equals([]).no_oracle(),
        op.case("mixed", _files(arrays[0], cube[0])).runtime_error("sample 1"),
        op.case("ranks", _files(cube, cube[0])).runtime_error("sample 1"),
        op.case("no npy file", op.batch([np.arange(100, dtype=np.uint8)])).runtime_error(
            "sample 0"
        ),
        op.case("cut", op.batch([files.at(0), files.at(1)[:-1]])).runtime_error("sample 1"),
        op.case("text", _files(np.array(["a"]))).runtime_error("type"),
        op.case("dtype", op.samples((5,), dtype=op.float32, layout="")).type_error("dtype"),
    ]
