"""`Targets` of images that are mixed: what they hold of several images, together."""

from __future__ import annotations

from typing import Any, Final

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.random.default_generator import get_default_rng
from gradiva.eager.random.generator import RepeatedRNG
from gradiva.eager.support.errors import OperatorTypeError
from gradiva.eager.support.lazy_import import lazy_module

# Few calls have targets, and the operators that move them take time to import.
_follow: Any = lazy_module("gradiva.ops.targets.follow")

_LAYOUTS: Final = {"xyxy": "xyXY", "xywh": "xyWH", "cxcywh": "cxcyWH"}
_FIXED: Final = ("keypoints", "polygons", "vertices", "cameras")
"""What is not merged."""


def _format(targets: Any, keywords: dict[str, Any]) -> dict[str, Any]:
    """The arguments that say what boxes are, those of the targets. Raises OperatorTypeError."""
    for name in ("bbox_layout", "bbox_normalized"):
        if keywords.get(name) is not None:
            raise OperatorTypeError(
                f"with targets `{name}` is theirs: they have a format of their own", argument=name
            )
    options = targets.options
    return {"bbox_layout": _LAYOUTS[options["format"]], "bbox_normalized": options["relative"]}


def _several(operator: OperatorBase, targets: Any) -> tuple[dict[str, Any], list[str]]:
    """What targets hold, and which of it has a row for each object. Raises OperatorTypeError."""
    fields = targets.fields()
    other = [name for name in _FIXED if name in fields]
    if other:
        raise OperatorTypeError(
            f"{operator.name} does not put {other[0]} of several images together",
            expected="targets with boxes, labels, masks and columns",
            got=f"targets that hold {', '.join(fields)}",
        )
    return fields, [name for name in fields if name not in ("boxes", "masks")]


def _images_of(
    operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The images of a call, and its keywords with a generator that draws the same each time."""
    if len(inputs) != 1:
        raise OperatorTypeError(
            f"with targets {operator.name} takes the images alone: what belongs to them is in the "
            "targets",
            expected="1 input before the targets",
            got=str(len(inputs)),
        )
    drawn = keywords.get("rng")
    if keywords.get("seed") is None:
        keywords = {**keywords, "rng": RepeatedRNG(drawn or get_default_rng(), drawn is None)}
    return inputs[0], keywords


def _merged(merge: Any, images: Any, trees: tuple[Any, ...]) -> tuple[Any, Any]:
    """The images and the trees after `merge(targets)`, which returns both for some targets."""
    made: list[Any] = []

    def one(targets: Any) -> Any:
        outputs, after = merge(targets)
        made.append(outputs)
        return after

    merged = tuple(_follow.map_targets(one, tree) for tree in trees)
    return (made[0],), merged


def mosaic_with_targets(
    operator: OperatorBase, inputs: tuple[Any, ...], trees: Any, keywords: dict[str, Any]
) -> tuple[Any, Any]:
    """Mosaics, and targets with the boxes, labels, columns and classes of four images.

    The limits of the targets hold: `min_visibility`, `min_area` and `min_size`. Boxes are cut at
    the edges, and those of which nothing is left are left out, with all that belongs to them.
    """
    images, keywords = _images_of(operator, inputs, keywords)

    def merge(targets: Any) -> tuple[Any, Any]:
        fields, names = _several(operator, targets)
        options = targets.options
        if "boxes" not in fields and names:
            raise OperatorTypeError(
                f"without boxes nobody knows which {names[0]} are left in a mosaic"
            )
        made: dict[str, Any] = {}
        whole: Any = None
        if "boxes" in fields:
            limits = {name: options[name] for name in ("min_area", "min_size")}
            given = {"remove_threshold": options["min_visibility"], **limits, **keywords}
            rows = (fields["boxes"], *(fields[name] for name in names))
            whole, *rest = operator.bind((images, *rows), {**given, **_format(targets, keywords)})
            made = dict(zip(("boxes", *names), rest, strict=True))
        else:
            whole = operator.bind((images,), keywords)
        if "masks" in fields:
            masks = fields["masks"]
            if masks.ndim != 2 and not masks.layout:
                raise OperatorTypeError(
                    "a mosaic has masks of classes, and none of objects",
                    expected="(H, W), or (H, W, 1) with the layout HWC",
                    got=f"{masks.ndim}-D masks",
                )
            made["masks"] = operator.bind((masks,), {**keywords, "fill_value": 0})
        return whole, targets.with_fields({name: made[name] for name in fields})

    return _merged(merge, images, trees)


def copy_paste_with_targets(
    operator: OperatorBase, inputs: tuple[Any, ...], trees: Any, keywords: dict[str, Any]
) -> tuple[Any, Any]:
    """Images with pasted objects, and targets with the masks that are seen, their boxes, labels and
    columns. Raises OperatorTypeError for targets without masks."""
    images, keywords = _images_of(operator, inputs, keywords)

    def merge(targets: Any) -> tuple[Any, Any]:
        fields, names = _several(operator, targets)
        if "masks" not in fields:
            raise OperatorTypeError(
                f"{operator.name} takes objects by their masks",
                expected="targets with masks, (n, H, W)",
                got=f"targets that hold {', '.join(fields)}",
            )
        least = max(1, round(targets.options["min_area"]))
        given = {"min_area": least, **keywords, **_format(targets, keywords)}
        rows = (fields["masks"], *(fields[name] for name in names))
        whole, *rest = operator.bind((images, *rows), given)
        made = dict(zip(("masks", "boxes", *names), rest, strict=True))
        return whole, targets.with_fields({name: made[name] for name in fields})

    return _merged(merge, images, trees)
