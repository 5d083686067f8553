"""Calls of operators with targets: the images first, then what follows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.operators.fusion_roles import Decode
from gradiva.eager.operators.input_sets import follow, has_sets, has_targets
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.per_frame_types import has_frames
from gradiva.eager.random.default_generator import get_default_rng
from gradiva.eager.random.generator import RNG, RepeatedRNG
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe
from gradiva.eager.types.arrays import Int64Array
from gradiva.eager.types.coordinate_maps import IN_PLACE, Bends, Gather, spatial_axes
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.eager.values.tensor import Tensor
from gradiva.eager.values.value import Symbolic

from .canvas import canvas
from .composed import composed_warp
from .follower import files_of, follower_of, passed_on, past_of
from .frames import frame_tracks, frames
from .past import past
from .targets import Targets
from .track import layout_of, shapes_of, stacked


def map_targets(function: Callable[[Targets], Any], tree: Any) -> Any:
    """The tree with `function` of each `Targets` in it, in its dicts, lists and tuples."""
    if isinstance(tree, Targets):
        return function(tree)
    if isinstance(tree, dict):
        return {name: map_targets(function, value) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        made = [map_targets(function, value) for value in tree]
        kind = type(tree)
        return kind(*made) if hasattr(kind, "_fields") else kind(made)
    return tree


def follow_images(operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call an operator with images, and move the targets behind them alike. Returns its outputs and
    the targets, as they stood among the inputs, as a tuple."""
    first = next(place for place, value in enumerate(inputs) if has_targets((value,)))
    images, trees = inputs[:first], inputs[first:]
    if first == 0 or not all(has_targets((tree,)) for tree in trees):
        place = 0 if first == 0 else next(k for k, t in enumerate(trees) if not has_targets((t,)))
        raise OperatorTypeError(
            "targets stand behind the images and all other inputs, as in `flip(images, targets)`",
            got=describe(inputs[first + place] if first else inputs[0]),
        )
    if has_sets(images):
        raise OperatorTypeError(
            "targets follow one batch of images: call the operator for each, with the same `seed`",
            expected="a batch, a sample or a symbol",
            got=describe(images[0]),
        )
    if operator.with_targets is not None:
        outputs, made = operator.with_targets(images, trees, keywords)
        return (*outputs, *made)
    moves = operator.moves
    if moves is not IN_PLACE and not isinstance(moves, Bends):
        follower_of(operator)  # it raises an error before anything is computed
    if operator.random and moves is not IN_PLACE:
        rng = keywords.get("rng")
        if rng is None or (isinstance(rng, RNG) and not isinstance(rng, RepeatedRNG)):
            keywords = {**keywords, "rng": RepeatedRNG(rng or get_default_rng(), rng is None)}
    outputs = operator.bind(images, keywords)
    several = outputs if isinstance(outputs, tuple | list) else (outputs,)
    if moves is IN_PLACE:
        return (*several, *trees)
    tracks: dict[tuple[int, int], Any] = {}

    def moved(targets: Targets) -> Targets:
        _check_current(operator, images[0], targets)
        known = (id(targets._track), id(targets._past))
        if known not in tracks:
            if isinstance(moves, Bends):
                tracks[known] = _bent(operator, images, keywords, targets, several[0])
            else:
                moved = _moved_track(operator, images, keywords, targets._track)
                tracks[known] = moved, targets._past
        track, before = tracks[known]
        return targets._after(operator.name, track, before, images[0], several[0])

    return (*several, *(map_targets(moved, tree) for tree in trees))


def moves_frames(operator: OperatorBase, images: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether an argument has values per frame, as far as that is known."""
    values = [keywords.get(name) for name in operator.frames]
    if "1" in operator.frames:
        values += images[1:]
    types = [getattr(value, "type", None) for value in values]
    return any(isinstance(type, SampleType) and has_frames(type) for type in types)


def _check_current(operator: OperatorBase, image: Any, targets: Targets) -> None:
    """Raise OperatorValueError if the images have moved since without these targets, as far as that
    is known before they are computed."""
    moved, track = "", targets._track
    if isinstance(operator.fusion_role, Decode):
        return
    if isinstance(image, Symbolic) and targets._last is not None:
        moved = image.moved_since(targets._last)
    elif type(image) is type(track) is Batch and len(image):
        moved = _other_shape(image.batch_shape.shapes, track)
    elif type(image) is type(track) is Tensor:
        moved = _other_shape(np.array([image.shape]), Batch.broadcast(track, 1))
    if moved:
        raise OperatorValueError(
            f"the images were moved by {moved} without these targets: give it the targets, too",
            operator=operator.name,
        )


def _other_shape(shapes: Int64Array, track: Batch) -> str:
    """Which image has not the height and the width that its track has; an empty text if none."""
    of_frames = frame_tracks(track)
    tracks = stacked(track) if of_frames is None else of_frames.tracks
    if of_frames is not None:
        shapes = np.repeat(shapes[:, 1:], of_frames.counts, axis=0)
        if len(tracks) == 0:
            return ""
    known, layout = shapes_of(tracks), layout_of(tracks)
    axes = spatial_axes(layout)
    if shapes.shape != known.shape:
        return f"an operator, to {shapes.shape[1]} axes"
    bad = (shapes != known)[:, axes].any(axis=1)
    return f"an operator, to the shape {tuple(shapes[bad][0].tolist())}" if bad.any() else ""


def _moved_track(
    operator: OperatorBase, images: tuple[Any, ...], keywords: dict[str, Any], track: Any
) -> Any:
    """The track after a call."""
    if isinstance(operator.fusion_role, Decode):
        if track is not None:
            raise OperatorTypeError(
                "a decoder makes images, and these targets have followed others before",
                operator=operator.name,
            )
        return files_of(operator).bind(images, passed_on(keywords))
    before = canvas.bind((images[0],), {"device": "cpu"}) if track is None else track
    if operator.frames and moves_frames(operator, images, keywords):
        before = frames.bind((before,), {})
    return follower_of(operator).bind((before, *images[1:]), passed_on(keywords))


def _bent(
    operator: OperatorBase,
    images: tuple[Any, ...],
    keywords: dict[str, Any],
    targets: Targets,
    result: Any,
) -> tuple[Any, Any]:
    """The track and the past after a call that bends the images: another track begins."""
    track, before = targets._track, targets._past
    if track is None:
        track = canvas.bind((images[0],), {"device": "cpu"})
    if before is None:
        before = past.bind((track,), {})
    after = past_of(operator).bind((track, *images[1:], before), passed_on(keywords))
    return canvas.bind((result,), {"device": "cpu"}), after


def call_operator(
    operator: OperatorBase, keywords: dict[str, Any], images: Any, targets: Any
) -> tuple[Any, Any]:
    """The images after an operator, and the targets after it, whatever they are in."""
    if not has_targets((targets,)):
        return operator.bind((images,), dict(keywords)), targets
    made = operator.bind((images, targets), dict(keywords))
    return made[0], made[-1]


class Warp(NamedTuple):
    """A call that gathers pixels by matrices: of `call_operator`."""

    step: Callable[[Any, Any], tuple[Any, Any]]
    operator: OperatorBase
    keywords: dict[str, Any]
    gather: Gather


def compose(warps: Sequence[Warp], images: Any, targets: Any) -> tuple[Any, Any]:
    """The images and targets after several such calls, whose pixels are gathered once."""
    begin = track = canvas.bind((images,), {"device": "cpu"})
    moved: dict[int, Any] = {}

    def check(one: Targets) -> Targets:
        _check_current(warps[0].operator, images, one)
        moved[id(one._track)] = begin if one._track is None else one._track
        return one

    map_targets(check, targets)
    for warp in warps:
        follower, given = follower_of(warp.operator), passed_on(warp.keywords)
        track = follower.bind((track,), given)
        moved = {known: follower.bind((one,), given) for known, one in moved.items()}
    found = next(warp.gather for warp in warps if warp.gather.resamples)
    names = [warp.operator.name for warp in warps]
    given = {"interp_type": found.filter, "fill_value": found.fill, "maps": ", ".join(names)}
    result = composed_warp.bind((images, track), given)

    def after(one: Targets) -> Targets:
        return one._after(", ".join(names), moved[id(one._track)], one._past, images, result)

    return result, map_targets(after, targets)


follow.fill(follow_images)
