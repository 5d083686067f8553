"""The headers of npy files.

The format: NumPy enhancement proposal 1, "A simple file format for NumPy arrays", versions 1 to 3.
"""

from __future__ import annotations

import ast
import math
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.batch_shape import fault_of

_MAGIC = b"\x93NUMPY"
_LONGEST = 1 << 16
_ODD = re.compile(r"[0-9][A-Za-z_]|\\")
"""What warns when it is read as Python: nothing of the kind is in a header without a structure."""
_LONG = re.compile(r"(?<=[0-9])L(?=\s*[,)])")
"""What Python 2 wrote behind large whole numbers, and NumPy on Windows behind all."""
_DTYPE = re.compile(r"[<>=|]?(?:\?|[b-zB-Z][0-9]{0,3}|bool|u?int[0-9]{1,2}|float[0-9]{2,3})")
"""Others are no numbers, and NumPy warns of some."""


class Header(NamedTuple):
    """dtype; whether axes are in Fortran's order; shape; the byte where the values begin."""

    dtype: np.dtype[Any]
    fortran: bool
    shape: tuple[int, ...]
    begin: int

    @property
    def end(self) -> int:
        """The byte behind the values."""
        return self.begin + math.prod(self.shape) * self.dtype.itemsize


def read_header(head: Callable[[int], bytes], size: int) -> Header:
    """The header of a file of `size` bytes, whose first n bytes are `head(n)`, or what there is of
    them. Raises SampleDataError, also if the file is too short for the values."""
    start = head(12)
    if not start.startswith(_MAGIC):
        raise op.SampleDataError("this is no npy file", expected="its magic string", got=start[:6])
    version = start[6] if len(start) > 7 else 0
    if version not in (1, 2, 3):
        raise op.SampleDataError("the version of the npy file", expected="1 to 3", got=version)
    width, form = (2, "<H") if version == 1 else (4, "<I")
    begin = 8 + width
    if len(start) < begin:
        raise op.SampleDataError("the npy file ends early, in its header")
    end = begin + struct.unpack(form, start[8:begin])[0]
    if size < end:
        raise op.SampleDataError("the npy file ends early, in its header")
    if end - begin > _LONGEST:
        raise op.SampleDataError(
            "the header of the npy file is too long",
            got=end - begin,
            expected=f"at most {_LONGEST} bytes",
        )
    header = Header(*_fields(head(end)[begin:], version), end)
    if header.end > size:
        raise op.SampleDataError(
            "the npy file has another length than its header says",
            expected=f"{header.end} bytes",
            got=size,
        )
    return header


@lru_cache(maxsize=64)
def _fields(header: bytes, version: int) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    """Dtype, order and shape. The files of a data set often have one header."""
    try:
        written = header.decode("utf-8" if version == 3 else "latin1")
        if version < 3:
            written = _LONG.sub("", written)
        if _ODD.search(written):
            raise ValueError(f"it says {written.strip()}")
        fields = ast.literal_eval(written)
        text, fortran, shape = fields["descr"], fields["fortran_order"], fields["shape"]
        sane = isinstance(text, str) and isinstance(fortran, bool) and isinstance(shape, tuple)
        if not sane or not all(type(extent) is int and 0 <= extent < 2**63 for extent in shape):
            raise ValueError(f"it says {fields}")
        if fault := fault_of(shape):
            raise ValueError(fault)
        if not _DTYPE.fullmatch(text):
            raise ValueError(f"the type of its values is {text!r}")
        found = np.dtype(text)
    except (ValueError, TypeError, KeyError, SyntaxError, MemoryError, RecursionError) as error:
        reason = f"the header of the npy file cannot be read: {error}"
        raise op.SampleDataError(reason[:300]) from None
    try:
        op.DType.from_numpy(found)
    except TypeError as error:
        raise op.SampleDataError(f"an array of another type: {error}") from None
    return found, fortran, shape
