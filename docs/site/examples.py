"""Examples of operators: a call with its result, and pictures of what it does to a photograph."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gradiva
from gradiva import types
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import GradivaError
from gradiva.eager.types.dtypes import DType
from gradiva.eager.values.batch import Batch
from gradiva.extension.modes import outputs_of

from .registry import good_cases, names_of, symbol_of

__all__ = ["PICTURES", "case_example", "picture"]

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


def case_example(operator: OperatorBase) -> str | None:
    """The first case of an operator that says something, as code with what comes out."""
    names = names_of(operator)
    symbol = symbol_of(operator)
    if operator.effects or (not names and symbol is None):
        return None  # such as what writes files
    for case in sorted(good_cases(operator), key=_size):
        try:
            call: Any = operator
            outputs = outputs_of(call(*case.inputs, **_seeded(operator, case)))
        except GradivaError:
            continue  # a case for a moment that is not this one, such as inside of a pipeline
        return _code(operator, case, outputs, names[0] if names else "", symbol)
    return None


def _seeded(operator: OperatorBase, case: Case) -> dict[str, Any]:
    return {**case.arguments, **({"seed": 11} if operator.random else {})}


def _size(case: Case) -> tuple[bool, bool, int]:
    """Cases that name what they do come first: those with arguments, then small ones."""
    size = sum(int(one.batch_shape.volumes.sum()) for one in case.inputs if isinstance(one, Batch))
    return (not case.arguments, not case.inputs and "batch_size" not in case.arguments, size)


def _code(
    operator: OperatorBase, case: Case, outputs: tuple[Any, ...], name: str, symbol: str | None
) -> str:
    lines = []
    words = [f"input_{i}" if len(case.inputs) > 1 else "batch" for i in range(len(case.inputs))]
    for word, value in zip(words, case.inputs, strict=True):
        lines.append(f"{word} = {_value(value)}")
    if symbol is not None and len(words) == 2:
        call = f"{words[0]} {symbol} {words[1]}"
    elif symbol is not None:
        call = f"abs({words[0]})" if symbol == "abs" else f"{symbol}{words[0]}"
        call = call.replace("pos", "+").replace("neg", "-")
    else:
        given = [f"{key}={_value(value)}" for key, value in _seeded(operator, case).items()]
        call = f"{name}({', '.join([*words, *given])})"
    lines.append(call)
    lines += [f"# {line}" for output in outputs for line in _shown(output)]
    return "\n".join(lines)


def _value(value: Any) -> str:
    """A value as code, or `...` and what it is."""
    if isinstance(value, DType):
        return f"gradiva.{value.name}" + ("_" if value.name == "bool" else "")
    if isinstance(value, Batch):
        arrays = [np.asarray(one) for one in value]
        if sum(one.size for one in arrays) > 24:
            return f"...  # {value!r}"
        inside = ", ".join(_array(one) for one in arrays)
        layout = f", layout={value.layout!r}" if value.layout else ""
        return f"gradiva.batch([{inside}]{layout})"
    if isinstance(value, np.ndarray):
        return _array(value) if value.size <= 24 else f"...  # an array of shape {value.shape}"
    if isinstance(value, enum.Enum):
        return f"types.{value.name}"
    if callable(value):
        return getattr(value, "__name__", "...")
    text = repr(value)
    return text if "\n" not in text and " object at " not in text and len(text) < 200 else "..."


def _array(array: np.ndarray[Any, Any]) -> str:
    return f"np.array({array.tolist()}, np.{array.dtype.name})"


def _shown(output: Any) -> list[str]:
    lines = [repr(output)]
    arrays = [np.asarray(one) for one in output] if isinstance(output, Batch) else []
    if arrays and sum(one.size for one in arrays) <= 24:
        lines += [
            np.array2string(one, precision=4, separator=", ", max_line_width=10_000).replace(
                "\n", ""
            )
            for one in arrays
        ]
    return lines
