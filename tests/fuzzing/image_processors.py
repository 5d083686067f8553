"""Configurations of image processors: bytes of a file, and settings of which some are replaced."""

from __future__ import annotations

import json
import math
from typing import Any

import gradiva
from gradiva.convert.from_huggingface.configuration import parsed
from gradiva.convert.from_huggingface.processors import PROCESSORS

__all__ = ["read", "seeds"]

_NUMBERS = (None, True, False, 0, 1, -1, 3, 224, 1 << 40, 10**400, 0.5, 1e-40, math.inf, math.nan)
_TEXTS = ("", "224", "BICUBIC", "\nimport os\n")
_LISTS: tuple[Any, ...] = ([], [1], [2, 3], [0.5] * 3, ["a"] * 3, [[1]])
_SIZES: tuple[Any, ...] = (
    {},
    {"shortest_edge": 5},
    {"height": 5, "width": None},
    {"height": 0, "width": 7},
    {"shortest_edge": 5, "longest_edge": 9},
    {"max_height": 9, "max_width": 2.5},
    {"a": {"b": 1}},
)
_VALUES: tuple[Any, ...] = (*_NUMBERS, *_TEXTS, *_LISTS, *_SIZES)
_OLDER = ("min_pixels", "max_pixels", "max_size", "use_square_size", "rescale", "reduce_labels")
_OTHERS = ("image_processor_type", "feature_extractor_type", "image_processor", "data_format")
_KEYS = sorted({key for one in PROCESSORS.values() for key in one.settings} | {*_OLDER, *_OTHERS})


def read(data: bytes) -> None:
    """JSON, if it begins as such; else a byte for the processor, then pairs of a key and a value.
    What is taken is a function, whose code defines it alone."""
    if data[:1] in (b"{", b"[", b""):
        settings: Any = parsed(data, "the file")
    else:
        settings = {"image_processor_type": [*PROCESSORS][data[0] % len(PROCESSORS)]}
        for key, value in zip(data[1::2], data[2::2], strict=False):
            settings[_KEYS[key % len(_KEYS)]] = _VALUES[value % len(_VALUES)]
    code = gradiva.convert.huggingface(settings).code()
    lines = [line for line in code.splitlines() if line and line[0] not in " \t"]
    assert [line.split("(")[0] for line in lines] == [
        "import gradiva",
        *(["from gradiva import types"] if "types." in code else []),
        "def transform",
    ]


def seeds() -> list[bytes]:
    """A configuration of each family, and replaced settings."""
    names = ("CLIP", "ConvNext", "Detr", "Qwen2VL", "Llava")
    files = [
        json.dumps({"image_processor_type": f"{name}ImageProcessor", "size": {"shortest_edge": 30}})
        for name in names
    ]
    return [*(one.encode() for one in files), b"\1\0\7\3\5", bytes(range(1, 40))]
