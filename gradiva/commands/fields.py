"""The fields of operators, in the order in which `gradiva ops` and the site list them."""

from __future__ import annotations

from collections.abc import Iterable

from gradiva.eager.operators.operator import OperatorBase

__all__ = ["FIELDS", "by_field", "field_of"]

FIELDS = {
    "Readers": ("readers",),
    "Decoders": ("decoders",),
    "Your own data and functions": ("external_source", "cache"),
    "Images: sizes and windows": (
        "image.resize",
        "image.patches",
        "image.crop",
        "image.flip",
        "image.roi_random_crop",
        "image.multi_paste",
        "image.paste",
        "image.erase",
        "image.grid_mask",
        "random.crop_window",
    ),
    "Images: mixing and random erasing": ("mixing", "image.random_erasing"),
    "Images: geometry": ("image.warp", "transforms"),
    "Images: color and intensity": ("image.color", "image.enhance", "image.albumentations"),
    "Images: filters and noise": ("image.filter", "noise"),
    "Audio": ("audio", "decoders.audio"),
    "Video": ("video", "decoders.video", "readers.video", "external_source.video_input"),
    "Boxes, points and masks": (
        "segmentation",
        "targets",
        "indexing.coord_flip",
        "indexing.coord_transform",
    ),
    "Random values": ("random",),
    "Arrays: shapes, parts and order": ("arrays", "indexing", "image.dump_image"),
    "Arrays: reductions": ("reductions",),
    "Arithmetic and mathematics": ("math",),
    "Your own operators": (),
}
"""By title: the folders and files of `ops` that declare the operators of a field."""
_TITLES = {part: title for title, parts in FIELDS.items() for part in parts}


def field_of(module: str) -> str:
    """The title of the field of an operator that this module declares: that of the longest path
    that holds its file."""
    path = module.removeprefix("gradiva.ops.")
    while path not in _TITLES:
        path, _, name = path.rpartition(".")
        if not name:
            return "Your own operators"
    return _TITLES[path]


def by_field(operators: Iterable[OperatorBase]) -> dict[str, list[OperatorBase]]:
    """Operators by the titles of their fields; fields without any are left out."""
    found: dict[str, list[OperatorBase]] = {title: [] for title in FIELDS}
    for operator in operators:
        found[field_of(operator.__module__)].append(operator)
    return {title: several for title, several in found.items() if several}
