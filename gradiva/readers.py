"""Readers of dynamic mode: objects that are looped over, epoch by epoch."""

from typing import NoReturn as _NoReturn

from gradiva.ops.readers.file import File

__all__ = ["File"]

_LATER = (
    "COCO", "Caffe", "Caffe2", "MXNet", "NemoAsr", "Numpy", "TFRecord", "Video", "VideoResize",
    "Webdataset",
)  # fmt: skip
"""Readers that users know and that are still to be written."""


def __getattr__(name: str) -> _NoReturn:
    if name in _LATER:
        raise AttributeError(
            f"gradiva.readers.{name} is not there yet: this version of gradiva reads with "
            "readers.File, or from a Python source with ExternalSource"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
