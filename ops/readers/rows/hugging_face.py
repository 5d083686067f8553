"""What data sets of Hugging Face have in place of an image or an audio file that is not decoded:
the bytes of a file, or its path."""

from __future__ import annotations

import os
from typing import Any, Final

from gradiva.eager import extension as op
from gradiva.eager.support.local_files import open_regular

FILE: Final = {"bytes", "path"}
"""The entries of such a value."""


def content_of(content: Any, path: Any) -> bytes:
    """The bytes of the file. Raises SampleDataError."""
    if content is not None:
        found: bytes = content
        return found
    if path is None:
        raise op.SampleDataError("there is no value")
    try:
        with os.fdopen(open_regular(os.fspath(path)), "rb") as stream:
            return stream.read()
    except (OSError, TypeError, ValueError) as error:
        reason = f"the file of this row, {str(path)[:200]!r}, cannot be read: {error}"
        raise op.SampleDataError(reason) from None
