"""`imread`: image files as pixels, in one call of dynamic mode."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.error_policy import check_not_single, continues_on_error
from gradiva.eager.execution.quarantine import collecting, record
from gradiva.eager.operators.interpreter import current_interpreter, eager_interpreter, interpreter
from gradiva.eager.operators.signature import extended
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import annotate_error
from gradiva.ops.decoders.image.image import image
from gradiva.ops.readers.core.remote_files import read_any_files


def imread(
    filepaths: str | bytes | os.PathLike[str] | op.Tensor | Iterable[Any], /, **options: Any
) -> Any:
    """Read and decode image files.

    Args:
        filepaths: one path (str, bytes, os.PathLike or a 1-D uint8 tensor of its bytes), or several
            of them in a list, another iterable or a Batch.
        options: the arguments of `decoders.image` (`output_type`, `dtype`, `adjust_orientation`,
            ...). `on_error` is for files that cannot be read, too.

    Returns:
        HWC pixels: a Tensor for one path, a Batch for several.

    Raises:
        OperatorRuntimeError: with the file, for one that cannot be read or decoded.
        OperatorTypeError: for something that is not a path.
        OperatorValueError: for a path with a NUL character.

    Example:
        gradiva.imread("cat.jpg").shape  # (300, 451, 3)
        images = gradiva.imread(["cat.jpg", "coffee.jpg"])
    """
    with annotate_error("imread"):
        if getattr(current_interpreter(), "symbolic", False):
            raise op.OperatorTypeError(
                "imread works in dynamic mode; in a pipeline use readers.file"
            )
        single = isinstance(filepaths, str | bytes | os.PathLike | op.Tensor) or _is_text(filepaths)
        paths: Any = [filepaths] if single else filepaths
        try:
            names = [_name(path) for path in paths]
        except TypeError:
            raise op.wrong_type("filepaths", "a path or several", op.describe(filepaths)) from None
        where = op.Provenance(np.arange(len(names), dtype=np.int64), names)
        if continues_on_error(options):
            check_not_single(options, single)
            decoded = _decode_readable(names, where, options)
        else:
            decoded = image(read_any_files(names, where, default_pool()), **options)
        return decoded.select(0) if single else decoded


imread.__signature__ = extended(imread, image.__signature__)  # type: ignore[attr-defined]


def _is_text(path: Any) -> bool:
    """Whether an array holds the bytes of one path."""
    return isinstance(path, np.ndarray) and path.dtype == np.uint8 and path.ndim == 1


def _name(path: Any) -> str:
    """Raises TypeError."""
    array: Any = np.asarray(path) if isinstance(path, op.Tensor) else path
    name = os.fsdecode(array.tobytes() if _is_text(array) else os.fspath(array))
    if "\0" in name:
        raise op.wrong_value("filepaths", "paths without a NUL character", op.describe(name))
    return name


def _decode_readable(names: list[str], where: op.Provenance, options: dict[str, Any]) -> Any:
    """A file that cannot be read comes to the decoder without bytes, and fails there."""
    failures: dict[int, op.GradivaError] = {}
    files = read_any_files(names, where, default_pool(), failures)
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
