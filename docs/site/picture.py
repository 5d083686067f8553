"""`python -m docs.site.picture`: make the picture of README.md, docs/pictures/augmented.jpg.

Each row is a photograph of the package, and five variants of it that one function draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

import gradiva

from .registry import ROOT

__all__ = ["PICTURE", "augment", "draw", "main"]

PICTURE = ROOT / "docs" / "pictures" / "augmented.jpg"
PHOTOGRAPHS = ("animals/chelsea.jpg", "people/astronaut.jpg", "things/coffee.jpg")
SIZE, GAP, VARIANTS = 144, 6, 5


def augment(files: Any) -> Any:
    """A random window of each image, mirrored or not, turned a little, in other colors."""
    count = len(files)
    uniform = gradiva.random.uniform
    images = gradiva.decoders.image(files)
    angle = uniform(range=(-15.0, 15.0), batch_size=count)
    images = gradiva.rotate(images, angle=angle, keep_size=True, fill_value=128.0)
    images = gradiva.random_resized_crop(images, size=(SIZE, SIZE), random_area=(0.35, 0.9))
    images = gradiva.flip(images, horizontal=gradiva.random.coin_flip(batch_size=count))
    return gradiva.color_twist(
        images,
        hue=uniform(range=(-25.0, 25.0), batch_size=count),
        saturation=uniform(range=(0.5, 1.6), batch_size=count),
        brightness=uniform(range=(0.7, 1.3), batch_size=count),
    )


def draw() -> np.ndarray[Any, Any]:
    """The picture: rows of photographs, each with its variants on the right."""
    gradiva.random.set_seed(5)
    names = [str(ROOT / "gradiva" / "photographs" / name) for name in PHOTOGRAPHS]
    files = gradiva.io.file.read(
        gradiva.batch([np.frombuffer(n.encode(), np.uint8) for n in names])
    )
    plain = gradiva.resize(gradiva.decoders.image(files), resize_shorter=SIZE)
    columns = [gradiva.crop(plain, crop=(SIZE, SIZE))]
    columns += [augment(files) for _ in range(VARIANTS)]
    step = SIZE + GAP
    shape = (step * len(names) - GAP, step * len(columns) - GAP, 3)
    picture = np.full(shape, 255, np.uint8)
    for x, column in enumerate(columns):
        for y, image in enumerate(column):
            picture[y * step : y * step + SIZE, x * step : x * step + SIZE] = image
    return picture


def main() -> None:
    """Write the picture."""
    PICTURE.parent.mkdir(exist_ok=True)
    Image.fromarray(draw()).save(PICTURE, quality=85, optimize=True)


if __name__ == "__main__":
    main()
