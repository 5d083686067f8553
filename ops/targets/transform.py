"""`transform`: several operators on images and their targets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import OperatorTypeError, annotate_error, describe
from gradiva.eager.types.coordinate_maps import gather_of, gathers_alike
from gradiva.eager.types.sample_type import SampleType

from .follow import Warp, call_operator, compose, moves_frames


def transform(
    images: Any, targets: Any, /, ops: Iterable[Any], *, compose_warps: bool = False
) -> tuple[Any, Any]:
    """Call several operators, one after another, on images and on the targets that follow them.

    Args:
        images: a batch, a sample or a symbol.
        targets: `gradiva.Targets`, or dicts, lists and tuples of these.
        ops: what is called, in this order: an operator, `gradiva.equalize`; an operator with
            arguments, `functools.partial(gradiva.resize, size=224)` or `(gradiva.resize,
            {"size": 224})`; or a function of yours, of images and targets, that returns both.
        compose_warps: gather the pixels of operators that follow each other and move pixels by
            matrices once (docs/targets.md), in all modes with the same bits, which are others than
            without it.

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
    chain: list[Warp] = []
    for step in steps:
        warp = _warp_of(step, images, targets) if compose_warps else None
        if chain and (warp is None or not gathers_alike([one.gather for one in (*chain, warp)])):
            images, targets = _run(chain, images, targets)
            chain = []
        if warp is not None:
            chain.append(warp)
        else:
            images, targets = step(images, targets)
    return _run(chain, images, targets)


def _warp_of(step: Any, images: Any, targets: Any) -> Warp | None:
    """The call of an operator that moves pixels by matrices, if this step is one."""
    if not isinstance(step, functools.partial) or step.func is not call_operator:
        return None
    operator, keywords = step.args
    fixed = {
        name: operator.arguments[name].static(value)
        for name, value in keywords.items()
        if name in operator.arguments and not operator.arguments[name].per_sample
    }
    type = getattr(images, "type", None)
    layout = type.layout if isinstance(type, SampleType) else ""
    found = gather_of(operator.name, fixed)
    if found is None or layout not in ("", None, "HWC", "FHWC"):
        return None
    if moves_frames(operator, (images,), keywords):
        return None
    return Warp(step, operator, keywords, found)


def _run(chain: list[Warp], images: Any, targets: Any) -> tuple[Any, Any]:
    """The images and targets after these calls, composed if there are two or more that resample."""
    while chain and not chain[0].gather.resamples:
        images, targets = chain.pop(0).step(images, targets)
    last = max((k for k, one in enumerate(chain) if one.gather.resamples), default=-1) + 1
    warps, rest = chain[:last], chain[last:]
    if sum(one.gather.resamples for one in warps) > 1:
        images, targets = compose(warps, images, targets)
    else:
        rest = chain
    for one in rest:
        images, targets = one.step(images, targets)
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
