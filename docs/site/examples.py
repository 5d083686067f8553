"""Pictures of what operators do to a photograph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import types
from gradiva.eager.operators.operator import OperatorBase

from .registry import names_of

__all__ = ["PICTURES", "picture"]

PICTURES = {
    "brightness": "brightness=1.5",
    "brightness_contrast": "brightness=1.2, contrast=0.6",
    "clahe": "tiles_x=8, tiles_y=8, clip_limit=4.0",
    "color_space_conversion": "image_type=types.RGB, output_type=types.GRAY",
    "color_twist": "hue=40.0, saturation=1.6, brightness=1.1, contrast=0.9",
    "contrast": "contrast=2.0",
    "crop": "crop=(160, 240), crop_pos_x=0.4, crop_pos_y=0.3",
    "erase": "anchor=(60.0, 120.0), shape=(90.0, 150.0), axis_names='HW'",
    "experimental.dilate": "mask_size=9",
    "experimental.erode": "mask_size=9",
    "experimental.median_blur": "window_size=9",
    "equalize": "",
    "flip": "horizontal=1, vertical=0",
    "gaussian_blur": "sigma=5.0",
    "grid_mask": "tile=50, ratio=0.5, angle=0.5",
    "hsv": "hue=60.0, saturation=1.3, value=1.1",
    "hue": "hue=90.0",
    "jitter": "nDegree=9",
    "jpeg_compression_distortion": "quality=5",
    "laplacian": "window_size=3, scale=2.0",
    "noise.gaussian": "stddev=40.0, seed=1",
    "noise.salt_and_pepper": "prob=0.08, seed=1",
    "noise.shot": "factor=25.0, seed=1",
    "paste": "ratio=1.5, fill_value=(40, 60, 90), paste_x=0.5, paste_y=0.5",
    "random_resized_crop": "size=(200, 200), seed=4",
    "resize": "size=(120, 300)",
    "resize_crop_mirror": "size=(300, 300), crop=(200, 200), mirror=1",
    "rotate": "angle=20.0",
    "saturation": "saturation=2.5",
    "slice": "rel_start=(0.25, 0.25), rel_end=(0.75, 0.75)",
    "sphere": "",
    "transpose": "perm=(1, 0, 2)",
    "warp_affine": "matrix=(1.0, 0.3, -40.0, 0.1, 1.0, -10.0), fill_value=0.0",
    "water": "ampl_x=12.0, ampl_y=12.0, freq_x=0.06, freq_y=0.06",
}
"""Arguments that show on a photograph what an operator does; a test makes these calls."""

_PHOTOGRAPH = Path(gradiva.__file__).parent / "photographs" / "animals" / "chelsea.jpg"


def picture(operator: OperatorBase, folder: Path) -> tuple[str, str, str] | None:
    """Make the picture of an operator in `folder`: the code, and the names of the files before and
    after. None for operators whose work no picture shows."""
    if operator.name not in PICTURES:
        return None
    arguments = PICTURES[operator.name]
    image = gradiva.imread(_PHOTOGRAPH)
    given: dict[str, Any] = eval(f"dict({arguments})", {"types": types, "dict": dict})
    call: Any = operator
    result = np.asarray(call(image, **given))
    before, after = "before.png", f"{operator.name}.png"
    if not (folder / before).exists():
        Image.fromarray(np.asarray(image)).save(folder / before)
    Image.fromarray(result[..., 0] if result.shape[-1] == 1 else result).save(folder / after)
    name = names_of(operator)[0]
    needed = "import gradiva\n" + ("from gradiva import types\n" if "types." in arguments else "")
    called = f"{name}(image{', ' if arguments else ''}{arguments})"
    return f'{needed}\nimage = gradiva.imread("chelsea.jpg")\nimage = {called}', before, after
