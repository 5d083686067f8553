"""What a failure of a codec means: that the file is damaged, or that memory was short.

Codecs do not tell the two apart: OpenCV gives nothing in both cases, others raise what they raise
for damage. But a good file must not be left out because the process was short of memory. So where
memory is short, or was perhaps a moment ago, the image is decoded once more, alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.image_info import ImageInfo

_Result = TypeVar("_Result")
_PER_PIXEL = 32
"""Bytes that a codec needs at most: of 12 megapixels OpenCV took 3 to 8 for each pixel, but for
JPEG 2000."""
_OF_JPEG_2000 = 64
"""Its coefficients are integers of 32 bits, and are copied."""
_PLENTY = 16
"""Where so many images have room, memory was not short a moment ago either."""
_alone = threading.Lock()


def failed(
    error: ValueError, info: ImageInfo, sample: int, again: Callable[[], _Result]
) -> _Result:
    """What `again` gives, which decodes the sample once more; else raises SampleDataError with the
    reason, or MemoryError where memory is short."""
    need = (_OF_JPEG_2000 if info.format == "jpeg2000" else _PER_PIXEL) * info.height * info.width
    reason = str(error)
    if has_room(_PLENTY * need):
        # No variable holds the new error: this frame is in its traceback.
        raise op.SampleDataError(reason, sample=sample) from None
    with _alone:
        if has_room(need):
            try:
                return again()
            except ValueError:
                if has_room(need):
                    raise op.SampleDataError(reason, sample=sample) from None
    raise MemoryError(
        f"{need} bytes that decoding {info.height} x {info.width} pixels of {info.format} may "
        f"take; without them it failed ({reason})"
    )


def has_room(size: int) -> bool:
    """Whether so many bytes are available now. They are not touched."""
    try:
        np.empty(size, np.uint8)
    except MemoryError:
        return False
    return True
