"""`io.file.read`: the bytes of files whose paths are data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.remote_files import read_any_files


@op.operator("io.file.read", schema="io__file__Read")
def read(
    input: op.SampleType,
    /,
    *,
    dont_use_mmap: bool = False,
    use_o_direct: bool = False,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Read a whole file for each sample.

    Args:
        input: the path of a file as bytes (int8 or uint8, 1-D), such as
            `numpy.frombuffer(path.encode(), numpy.uint8)`. It ends with the sample, or at a zero.
        dont_use_mmap, use_o_direct: accepted: files are always read, and never mapped.

    Returns:
        The bytes, uint8, 1-D; samples of a source then know these files, as those of `readers.file`
        do.

    Raises:
        OperatorRuntimeError: with the file, for one that cannot be read.
        OperatorValueError: for an empty path.

    Example:
        path = np.frombuffer(b"cat.jpg", np.uint8)
        data = gradiva.io.file.read(path)
        gradiva.decoders.image(data).shape  # (300, 451, 3)
    """
    op.require_dtype(input, (op.uint8, op.int8), "paths")
    op.require_ndim(input, (1,), "paths")
    return op.SampleType(op.uint8, 1, "", input.device)


@dataclass(frozen=True)
class ReadPlan(op.Plan):
    """contents: the bytes of the files, in the shapes of the output; where: what is known of the
    samples."""

    contents: op.Batch | None = None
    where: op.Provenance | None = None


read.samplewise = False  # what it reads is not in its input


@read.shapes
def _shapes(call: op.Call) -> ReadPlan:
    paths = []
    for sample, path in enumerate(call.inputs[0].arrays()):
        raw = path.tobytes().split(b"\0", 1)[0]
        if not raw:
            raise op.OperatorValueError("a path is empty", expected="a path", got="", sample=sample)
        paths.append(os.fsdecode(raw))
    where = call.inputs[0].provenance
    named = op.Provenance(np.arange(call.size), paths)
    if where is not None:
        named = where.renamed(paths)
    if not paths:
        return ReadPlan(op.BatchShape.equal(0, (0,)))
    contents = read_any_files(paths, named, call.pool)
    # Samples that had no place in a stream do not get one.
    return ReadPlan(contents.batch_shape, contents, None if where is None else named)


@read.cpu
def _cpu(call: op.Call, plan: ReadPlan) -> None:
    assert plan.contents is not None
    call.outputs[0].provenance = plan.where
    call.outputs[0].data[:] = plan.contents.data


def _paths(*names: str) -> op.Batch:
    return op.batch([np.frombuffer(name.encode(), np.uint8) for name in names])


@read.cases
def _cases() -> list[op.Case]:
    here = [str(Path(__file__)), str(Path(__file__).with_name("__init__.py"))]
    contents = [np.frombuffer(Path(path).read_bytes(), np.uint8) for path in here]
    signed = op.batch([np.frombuffer(path.encode() + b"\0", np.int8) for path in here])
    return [
        op.case("default", _paths(*here)).equals(contents),
        op.case("signed, ends at a zero", signed, dont_use_mmap=True).equals(contents),
        op.case("one", _paths(here[1]), use_o_direct=True).equals(contents[1:]).no_oracle(),
        op.case("empty", op.samples(layout="")).equals([]),
        op.case("missing", _paths(here[0], "/no/such/file")).runtime_error("/no/such/file"),
        op.case("folder", _paths("/")).runtime_error("file /"),
        op.case("no path", _paths("")).value_error("empty"),
        op.case("dtype", op.samples((4,), dtype=op.float32, layout="")).type_error("dtype"),
        op.case("rank", op.samples((4, 4), layout="")).type_error("axes"),
    ]
