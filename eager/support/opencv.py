"""OpenCV, loaded when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_import import can_import, lazy_module

if TYPE_CHECKING:
    import cv2
else:
    cv2 = lazy_module("cv2", "opencv-python-headless")

__all__ = ["cv2", "has_opencv"]


def has_opencv() -> bool:
    """Whether OpenCV can be used. What needs it raises an ImportError that says what to install."""
    return can_import("cv2")
