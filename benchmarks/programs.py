"""The programs of the benchmarks, written once for both libraries: `f` is the module with the
operators, `t` the one with the types, `where` the device of the decoder and its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["PIPELINES", "decode", "train", "val"]

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def decode(f: Any, t: Any, files: Any, **where: Any) -> Any:
    return f.decoders.image(files, output_type=t.RGB, **where)


def val(f: Any, t: Any, files: Any, **where: Any) -> Any:
    images = f.resize(f.decoders.image(files, output_type=t.RGB, **where), resize_shorter=256)
    return f.crop_mirror_normalize(
        images, crop=(224, 224), mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="CHW"
    )


def augmented(f: Any, t: Any, files: Any, **where: Any) -> Any:
    images = f.resize(f.decoders.image(files, output_type=t.RGB, **where), size=(224, 224))
    light = f.random.uniform(range=[0.8, 1.2])
    contrast = f.random.uniform(range=[0.8, 1.2])
    images = f.brightness_contrast(images, brightness=light, contrast=contrast)
    return f.crop_mirror_normalize(
        images, mirror=f.random.coin_flip(), mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="CHW"
    )


def cut(f: Any, t: Any, files: Any, **where: Any) -> Any:
    """A window of 8% to 100% of the image, to 224 x 224."""
    images = f.decoders.image_random_crop(files, output_type=t.RGB, **where)
    return f.resize(images, size=(224, 224))


def finish(f: Any, t: Any, images: Any) -> Any:
    return f.crop_mirror_normalize(
        images, mirror=f.random.coin_flip(), mean=MEAN, std=STD, dtype=t.FLOAT, output_layout="CHW"
    )


def train(f: Any, t: Any, files: Any, **where: Any) -> Any:
    return finish(f, t, cut(f, t, files, **where))


def train_with_color(f: Any, t: Any, files: Any, **where: Any) -> Any:
    images = f.color_twist(
        cut(f, t, files, **where),
        hue=f.random.uniform(range=[-18.0, 18.0]),
        saturation=f.random.uniform(range=[0.6, 1.4]),
        brightness=f.random.uniform(range=[0.6, 1.4]),
        contrast=f.random.uniform(range=[0.6, 1.4]),
    )
    return finish(f, t, f.gaussian_blur(images, window_size=5))


PIPELINES: dict[str, Callable[..., Any]] = {
    "decode": decode,
    "val: resize 256, crop 224, normalize": val,
    "resize 224, brightness, mirror, normalize": augmented,
    "train: random crop to 224, mirror, normalize": train,
    "train with color and blur": train_with_color,
}
