"""`transform`: several operators on images and their targets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import OperatorTypeError, annotate_error, describe

from .follow import call_operator


def transform(images: Any, targets: Any, /, ops: Iterable[Any]) -> tuple[Any, Any]:
    """Call several operators, one after another, on images and on the targets that follow them.

    Args:
        images: a batch, a sample or a symbol.
        targets: `gradiva.Targets`, or dicts, lists and tuples of these.
        ops: what is called, in this order: an operator, `gradiva.equalize`; an operator with
            arguments, `functools.partial(gradiva.resize, size=224)` or `(gradiva.resize,
            {"size": 224})`; or a function of yours, of images and targets, that returns both.

    Returns:
        The images and their targets.

    Raises:
        OperatorTypeError: for what cannot be called, and for operators that cannot move targets.

    Example:
        image, boxes = gradiva.imread("cat.jpg"), np.float32([[120, 40, 330, 280]])
        image, targets = gradiva.transform(
            image,
            gradiva.Targets(boxes=boxes),
            ops=[(gradiva.resize, {"size": (150, 225)}), gradiva.flip, gradiva.equalize],
        )
        image.shape  # (150, 225, 3)
    """
    with annotate_error("transform"):
        steps = [_step(number, one) for number, one in enumerate(ops)]
    for step in steps:
        images, targets = step(images, targets)
    return images, targets


def _step(number: int, one: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    """A function of images and targets. Raises OperatorTypeError."""
    function, keywords = one, dict[str, Any]()
    if isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[1], Mapping):
        function, keywords = one[0], dict(one[1])
    if isinstance(function, functools.partial) and not function.args:
        keywords = {**function.keywords, **keywords}
        function = function.func
    operator = getattr(function, "operator", None)
    if isinstance(operator, OperatorBase):
        return functools.partial(call_operator, operator, keywords)
    if not callable(function):
        raise OperatorTypeError(
            argument="ops",
            expected="an operator, (operator, {arguments}), or a function of images and targets",
            got=f"{describe(one)} at place {number}",
        )
    return functools.partial(_call_function, function, keywords)


def _call_function(function: Any, keywords: Any, images: Any, targets: Any) -> tuple[Any, Any]:
    made = function(images, targets, **keywords)
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise OperatorTypeError(
            "a function in `ops` returns images and targets",
            got=describe(made),
            operator="transform",
        )
    return made[0], made[1]
