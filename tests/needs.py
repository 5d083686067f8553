"""Marks of tests that need a package without which gradiva works, too."""

from __future__ import annotations

import pytest

from gradiva.eager.operators.operator import operators
from gradiva.eager.support.lazy_import import can_import

__all__ = ["calls_opencv", "needs_opencv", "needs_simplejpeg"]

needs_opencv = pytest.mark.skipif(not can_import("cv2"), reason="OpenCV is absent")
needs_simplejpeg = pytest.mark.skipif(not can_import("simplejpeg"), reason="simplejpeg is absent")


def calls_opencv(name: str) -> bool:
    """Whether this operator always needs OpenCV on a CPU: of one, Pillow gives the bits, too."""
    libraries = getattr(operators.get(name), "libraries", ())
    return libraries == ("opencv-python-headless",) and name != "jpeg_compression_distortion"
