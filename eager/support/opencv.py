"""OpenCV, loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_import import lazy_module

if TYPE_CHECKING:
    import cv2
else:
    cv2 = lazy_module("cv2", "opencv-python-headless")

__all__ = ["cv2"]
