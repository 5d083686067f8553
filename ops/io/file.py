"""`io.file.read`: the bytes of files whose paths are data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype, require_ndim
from gradiva.eager.support.errors import OperatorRuntimeError, OperatorValueError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import float32, int8, uint8
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch, batch
from gradiva.ops.class_names import hand_out
from gradiva.ops.readers.contents import read_files

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Common

__all__ = ["read"]

__getattr__, __dir__ = hand_out("io.file", globals())


@operator("io.file.read")
def read(
    input: SampleType,
    /,
    *,
    dont_use_mmap: bool = False,
    use_o_direct: bool = False,
    **common: Unpack[Common],
) -> SampleType:
    """Read a whole file for each sample.

    input: the path of a file as bytes (int8 or uint8, 1-D), such as
        `numpy.frombuffer(path.encode(), numpy.uint8)`. It ends with the sample, or at a zero.
    dont_use_mmap, use_o_direct: accepted: files are always read, and never mapped.

    Returns the bytes, uint8, 1-D; samples of a source then know these files, as those of
    `readers.file` do. Raises
    OperatorRuntimeError, with the file, for one that cannot be read; OperatorValueError for an
    empty path.
    """
    require_dtype(input, (uint8, int8), "paths")
    require_ndim(input, (1,), "paths")
    return SampleType(uint8, 1, "", input.device)


@read.shapes
def _shapes(call: Call) -> Geometry:
    paths = []
    for sample, path in enumerate(call.inputs[0].arrays()):
        raw = path.tobytes().split(b"\0", 1)[0]
        if not raw:
            raise OperatorValueError("a path is empty", expected="a path", got="", sample=sample)
        paths.append(os.fsdecode(raw))
    where = call.inputs[0].provenance
    named = Provenance(np.arange(call.size) if where is None else where.positions, paths)
    if not paths:
        return Geometry.equal(0, (0,))
    contents = read_files(paths, named, call.pool)
    # Samples that had no place in a stream do not get one.
    call.notes["read"] = contents, None if where is None else named
    return contents.geometry


@read.cpu
def _cpu(call: Call) -> None:
    contents, call.outputs[0].provenance = call.notes["read"]
    call.outputs[0].data[:] = contents.data


def _paths(*names: str) -> Batch:
    return batch([np.frombuffer(name.encode(), np.uint8) for name in names])


@read.cases
def _cases() -> list[Case]:
    here = [str(Path(__file__)), str(Path(__file__).with_name("__init__.py"))]
    contents = [np.frombuffer(Path(path).read_bytes(), np.uint8) for path in here]
    signed = batch([np.frombuffer(path.encode() + b"\0", np.int8) for path in here])
    return [
        case("default", _paths(*here)).equals(contents),
        case("signed, ends at a zero", signed, dont_use_mmap=True).equals(contents),
        case("one", _paths(here[1]), use_o_direct=True).equals(contents[1:]).no_oracle(),
        case("empty", samples(layout="")).equals([]),
        case("missing", _paths(here[0], "/no/such/file")).raising(
            OperatorRuntimeError, "/no/such/file"
        ),
        case("folder", _paths("/")).raising(OperatorRuntimeError, "file /"),
        case("no path", _paths("")).value_error("empty"),
        case("dtype", samples((4,), dtype=float32, layout="")).type_error("dtype"),
        case("rank", samples((4, 4), layout="")).type_error("axes"),
    ]
