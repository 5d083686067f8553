"""`imread`: image files as pixels, in one call of dynamic mode."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradiva.eager.errors import GradivaError, OperatorTypeError, blaming, describe
from gradiva.eager.operator import current_interpreter, eager_interpreter, interpreter
from gradiva.eager.provenance import Provenance
from gradiva.eager.quarantine import collecting, record
from gradiva.eager.signature import extended
from gradiva.eager.threads import default_pool
from gradiva.eager.tolerance import forgives, refuse_single
from gradiva.ops.readers.file import read_files

from .image import image

__all__ = ["imread"]


def imread(filepaths: str | os.PathLike[str] | Iterable[Any], /, **options: Any) -> Any:
    """Read and decode image files.

    filepaths: one path, for a Tensor; or several, for a Batch. options: those of `decoders.image`
    (`output_type`, `dtype`, `adjust_orientation`, ...); its `on_error` counts for files that cannot
    be read as well.

    Returns HWC pixels. Raises OperatorRuntimeError, with the file, for one that cannot be read or
    decoded; OperatorTypeError for something that is no path.
    """
    with blaming("imread"):
        if getattr(current_interpreter(), "symbolic", False):
            raise OperatorTypeError("imread works in dynamic mode; in a pipeline use readers.file")
        single = isinstance(filepaths, str | os.PathLike)
        paths: Any = [filepaths] if single else filepaths
        try:
            names = [os.fsdecode(os.fspath(path)) for path in paths]
        except TypeError:
            raise OperatorTypeError(
                argument="filepaths", expected="a path or several", got=describe(filepaths)
            ) from None
        where = Provenance(np.arange(len(names), dtype=np.int64), names)
        if forgives(options):
            refuse_single(options, single)
            decoded = _forgiving(names, where, options)
        else:
            decoded = image(read_files(names, where, default_pool()), **options)
        return decoded.select(0) if single else decoded


imread.__signature__ = extended(imread, image.__signature__)  # type: ignore[attr-defined]


def _forgiving(names: list[str], where: Provenance, options: dict[str, Any]) -> Any:
    """A file that cannot be read comes to the decoder without bytes, and fails there."""
    failures: dict[int, GradivaError] = {}
    files = read_files(names, where, default_pool(), failures)
    with collecting() as met, interpreter(eager_interpreter()):
        decoded = image(files, **options)
    entries = []
    for entry in met:
        failure = None if entry.position is None else failures.get(entry.position)
        entries.append(
            entry if failure is None else entry._replace(operator="imread", reason=failure.problem)
        )
    record(entries)
    return decoded
