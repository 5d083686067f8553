"""`gradiva.convert.albumentations`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from gradiva.convert.core.calls import Name, call
from gradiva.convert.core.converted import Converted, converted
from gradiva.convert.core.writer import NoCounterpartError, check_fallback
from gradiva.eager.support.errors import GradivaError
from gradiva.ops.targets.follow import map_targets
from gradiva.ops.targets.targets import Targets

from . import colors, places
from .containers import write_container
from .images import RULES, Images
from .nodes import CONTAINERS, Node, node_of
from .original import originals, theirs
from .targets import check_masks, target_options

__all__ = ["RULES", "Augmentation", "albumentations"]

_DECLARED = (colors, places)


class Augmentation(Converted):
    """A pipeline of Albumentations as a function of batches, and of the targets that follow them.

    Called with images it returns images; with images and `gradiva.Targets`, both. `targets` makes
    targets with the formats and limits of `bbox_params`.
    """

    _node: Node
    _decode: bool
    _fallback: str | None

    def __call__(self, images: Any, targets: Any = None) -> Any:
        """Run the steps. images: decoded images, uint8, HWC, RGB, as a batch or a symbol; encoded
        files, if the function was converted with `decode=True`. targets: `gradiva.Targets`, or
        tuples, lists and dicts of these.

        Raises OperatorTypeError for steps that targets cannot follow."""
        if targets is None:
            return self._function(images)
        map_targets(self._check_masks, targets)
        return self.with_targets(images, targets)

    def _check_masks(self, targets: Targets) -> Targets:
        if "masks" in targets:
            check_masks(self._node)
        return targets

    @functools.cached_property
    def with_targets(self) -> Converted:
        """The same steps as a function of images and targets, which returns both.

        Raises OperatorTypeError for steps that targets cannot follow.
        """
        writer = _written(self._node, self._fallback, True)
        return converted(self.name, writer, originals(self._node), self._decode)

    def targets(self, **values: Any) -> Targets:
        """`gradiva.Targets` of values under their names in Albumentations.

        values: `bboxes`, `keypoints`, `mask` or `masks`, and the `label_fields`: batches, arrays or
            symbols, with the shapes that `gradiva.Targets` takes: boxes (n, 4) of a sample.

        Formats and limits are those of `bbox_params`; keypoints are "xy". Label fields are columns:
        `targets["class_labels"]`. Raises OperatorTypeError for other names, and for parameters of
        the Compose that have no counterpart.
        """
        return target_options(self._node).make(values)


def albumentations(
    transform: Any | Mapping[str, Any] | str | PathLike[str],
    *,
    decode: bool = False,
    fallback: str | None = None,
) -> Augmentation:
    """Convert a pipeline of Albumentations into a function of gradiva.

    Steps that draw nothing give the bits of Albumentations 2.0.8. Random values are drawn for each
    image from gradiva's generator: their distributions are the same, the values are not. Most steps
    call OpenCV, which Albumentations needs, too; Albumentations itself is not needed for
    dictionaries and files.

    Args:
        transform: a transform or a `Compose`; a `ReplayCompose` counts as one; what
            `albumentations.to_dict` returns; or the path of a .json or .yaml file that
            `albumentations.save` wrote.
        decode: whether the function begins with encoded files.
        fallback: "python" runs steps without counterpart in `python_function`, with Albumentations'
            own random values; by default they are an error that names them.

    Returns:
        A function: `images = f(images)`, or `images, targets = f(images, targets)`. It has
        `report(images)`, `code()` and `targets(bboxes=..., masks=...)`.

    Raises:
        OperatorTypeError: for steps without counterpart, and for other values.
        OperatorValueError: for another `fallback`.

    Example:
        f = gradiva.convert.albumentations(A.Compose([A.HorizontalFlip(p=0.5), A.Normalize()]))
        images = f(gradiva.imread(["cat.jpg", "coffee.jpg"]))
    """
    check_fallback(fallback, "convert.albumentations")
    node = node_of(transform)
    writer = _written(node, fallback, False)
    parameters = ("files",) if decode else ("images",)
    plain = converted("", writer, originals(node), decode)
    name = f"Albumentations' {node.name}"
    made = Augmentation(name, plain.steps, parameters, originals(node))
    made._node, made._decode, made._fallback = node, decode, fallback
    return made


def _written(node: Node, fallback: str | None, targets: bool) -> Images:
    writer = Images(fallback, targets)
    _write(writer, node)
    writer.flush()
    return writer


def _write(writer: Images, node: Node) -> None:
    try:
        if node.name in CONTAINERS:
            write_container(writer, node, _write)
        else:
            RULES.write(writer, node.name, node)
    except NoCounterpartError as reason:
        _without_counterpart(writer, node, str(reason))
    except GradivaError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        problem = f"its arguments cannot be read: {type(error).__name__}: {error}"
        _without_counterpart(writer, node, problem)


def _without_counterpart(writer: Images, node: Node, reason: str) -> None:
    """Write a step in Python, or refuse it. Raises OperatorTypeError."""
    forced = {"force_apply": True} if writer.forced else {}

    def run(image: Any, *gates: Any) -> Any:
        if gates and not gates[0][place]:
            return image
        return np.asarray(theirs(node)(image=image, **forced)["image"])

    place, random = writer.place, True
    if writer.fallback is None:
        writer.without_counterpart(node.title, reason, run)
    made = theirs(node)
    classes = type(made).__mro__
    if writer.targets and any(one.__name__ == "DualTransform" for one in classes):
        writer.without_counterpart(node.title, f"{reason}, and targets cannot follow it in Python")
    drawing = ("get_params", "get_params_dependent_on_data")
    own = [one for one in classes if one.__module__ != "albumentations.core.transforms_interface"]
    random = node.p < 1 or any(name in vars(one) for one in own for name in drawing)
    writer.flush()
    name = writer.name("python_step")
    inputs = ["images"] if writer.gates is None else ["images", writer.gates]
    function, layout = Name(name), writer.layout
    line = call("gradiva.python_function", *inputs, function=function, output_layouts=layout)
    writer.step(
        node.title,
        f"images = {line}",
        note=reason,
        python=True,
        random=random,
        objects={name: run},
        original=None if random else lambda image: theirs(node)(image=image)["image"],
    )
