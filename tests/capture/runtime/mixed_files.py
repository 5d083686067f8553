"""Files as folders mix them: gray and color, CMYK, turned by EXIF, 8 and 16 bits. Not a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

cv2: Any = pytest.importorskip("cv2")

__all__ = ["mixed_files"]

KINDS = ("rgb", "gray", "cmyk", "turned", "16 bits", "alpha", "palette", "gray, 16 bits")


def mixed_files(folder: Path) -> list[str]:
    """Twelve files: of each kind one or two, of different sizes."""
    noise = np.random.default_rng(2)

    def picture(height: int, width: int, channels: int) -> Any:
        small = noise.integers(0, 255, (height // 8, width // 8, channels), np.uint8)
        return np.asarray(cv2.resize(small, (width, height))).reshape(height, width, channels)

    paths = []
    for number in range(12):
        kind, height, width = KINDS[number % len(KINDS)], 48 + 3 * number, 80 - 2 * number
        path = folder / f"{number:02d}.{'jpg' if number % len(KINDS) < 4 else 'png'}"
        pixels = picture(height, width, 4 if kind in ("cmyk", "alpha") else 3)
        if kind.endswith("16 bits"):
            wide = pixels.astype(np.uint16) * 257
            assert cv2.imwrite(str(path), wide[..., 0] if "gray" in kind else wide)
        elif kind == "turned":
            exif = Image.Exif()
            exif[274] = 6
            Image.fromarray(pixels).save(path, exif=exif)
        else:
            mode = {"cmyk": "CMYK", "alpha": "RGBA"}.get(kind, "RGB")
            image = Image.frombytes(mode, (width, height), pixels.tobytes())
            image = image.convert({"gray": "L", "palette": "P"}.get(kind, mode))
            image.save(path)
        paths.append(str(path))
    return paths
