"""Followers: beside each operator that moves pixels, one that moves tracks alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.execution.execute import prepare
from gradiva.eager.execution.per_frame import Frames
from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.operators.per_frame_types import has_frames
from gradiva.eager.types.arrays import Float64Array, Int64Array
from gradiva.eager.types.coordinate_maps import Bends, NoMap, spatial_axes

from .frames import OF_FRAMES, FrameTracks, frame_tracks, single_frames
from .past import PAST, PastPlan, bent, check_flat, plan_of_rows, write_rows
from .track import (
    COLUMNS,
    HEAD,
    begun,
    followed,
    layout_for,
    layout_of,
    matrices_of,
    shapes_of,
    write_flat,
)
from .track import stacked as stacked_tracks

TRACK = op.SampleType(op.float64, 2, "", "cpu")
"""The type of tracks."""


@dataclass(frozen=True)
class TrackPlan(op.Plan):
    """tracks: (N, R, 8)."""

    tracks: Float64Array


def plan_of(tracks: Float64Array) -> TrackPlan:
    """The plan of a call that makes these tracks."""
    return TrackPlan(op.BatchShape.equal(len(tracks), tracks.shape[1:]), tracks)


def write_tracks(call: op.Call) -> None:
    """The kernel of operators that make tracks."""
    assert isinstance(call.plan, TrackPlan)
    write_flat(call.outputs[0], call.plan.tracks)


class Follower(OperatorBase):
    """An operator on tracks, with the arguments of one on images: from a track before that operator
    to one after it. It runs the shape rule of that operator on samples without elements."""

    def __init__(
        self,
        original: OperatorBase,
        name: str,
        rule: Callable[[op.Call], Any],
        kernel: Callable[[op.Call], None] = write_tracks,
    ) -> None:
        vars(self).update(vars(original))
        del vars(self)["__call__"]
        self.original, self.name = original, name
        self.schema, self.formerly = None, ()
        if not name.endswith(_MAP):
            self.frames = frozenset()
        if name.endswith(_PAST):
            self.min_inputs, self.max_inputs = self.min_inputs + 1, self.max_inputs + 1
        self.kernels, self.shape_rule = {"cpu": kernel}, rule
        self.fusion_role = self.decomposition = self.view_rule = self.case_maker = None
        self.moves = self.with_targets = self.without_pixels = self.gpu_work = None
        self.libraries, self.cuts_out, self.host_from = (), None, None
        self.identity_on_same_type = self.mixed = self.transfers = self.metadata = False
        self.delivers_on_gpu = False

    def types(
        self, inputs: Sequence[op.SampleType], arguments: dict[str, Any]
    ) -> tuple[op.SampleType, ...]:
        if self.name.endswith(_PAST):
            check_flat(inputs[0], self.original.name)
            return (PAST,)
        if not self.name.endswith(_MAP):
            return (TRACK,)
        kinds = [one for name, one in arguments.items() if name in self.frames]
        others = inputs[1:] if "1" in self.frames else ()
        known = [one for one in (inputs[0], *kinds, *others) if isinstance(one, op.SampleType)]
        if any(map(has_frames, known)):
            return (OF_FRAMES,)
        if any(one.layout is None for one in known):
            return (TRACK.with_(ndim=None, layout=None),)
        return (TRACK,)

    def __reduce__(self) -> Any:
        return _again, (self.original, self.name)


def _again(original: OperatorBase, name: str) -> Follower:
    end = name[name.rindex(".") :]
    made = {_MAP: follower_of, _CANVAS: canvas_of, _FILES: files_of, _PAST: past_of}
    return made[end](original)


_MAP, _CANVAS, _FILES, _PAST = ".map", ".canvas", ".files", ".past"
_followers: dict[str, Follower] = {}


def _kept(
    original: OperatorBase,
    end: str,
    rule: Callable[[OperatorBase, op.Call], Any],
    kernel: Callable[[op.Call], None] = write_tracks,
) -> Any:
    name = f"{original.name}{end}"
    found = _followers.get(name)
    if found is None or found.original is not original:
        found = Follower(original, name, lambda call: rule(original, call), kernel)
        _followers[name] = found
    return found


def follower_of(original: OperatorBase) -> Follower:
    """The operator on tracks that goes with one on images. Raises OperatorTypeError if no
    matrix tells where that moves pixels."""
    moves = original.moves
    if not callable(moves):
        why = moves.why if isinstance(moves, NoMap) else "it declares no `coordinate_map`"
        raise op.OperatorTypeError(
            f"the operator cannot move targets: {why}; call it without them", operator=original.name
        )
    made: Follower = _kept(original, _MAP, _follow)
    return made


def canvas_of(original: OperatorBase) -> Follower:
    """The operator that makes, of the inputs of one on images, the track of the images that that
    makes, without their pixels."""
    made: Follower = _kept(original, _CANVAS, _begin)
    return made


def files_of(original: OperatorBase) -> Follower:
    """The operator that makes, of the files that a decoder reads, the track of the images that it
    makes, from the whole images in the files."""
    made: Follower = _kept(original, _FILES, _begin_in_files)
    return made


def _prepared(original: OperatorBase, inputs: tuple[op.Batch, ...], call: op.Call) -> op.Call:
    """The call of the operator on images, up to its shapes."""
    skips = call.given.get("on_error") == "skip"
    try:
        return prepare(
            original, inputs, call.given, call.size, call.pool, call.key, call.positions, skips
        )
    except op.GradivaError as error:
        raise error.complete(operator=original.name) from error.__cause__


def _begin(original: OperatorBase, call: op.Call) -> TrackPlan:
    """The shape rule of `canvas_of`."""
    inner = _prepared(original, call.inputs, call)
    type, shapes = inner.types[0], inner.batch_shapes[0].shapes
    return plan_of(begun(shapes, layout_for(type.layout or "", shapes.shape[1])))


def _begin_in_files(original: OperatorBase, call: op.Call) -> TrackPlan:
    """The shape rule of `files_of`."""
    if call.size == 0:
        return plan_of(np.zeros((0, HEAD, COLUMNS)))
    inner = _prepared(original, call.inputs, call)
    assert callable(original.moves)
    shapes, maps = original.moves(inner)
    made = inner.batch_shapes[0].shapes
    return plan_of(followed(begun(shapes, "HWC"), matrices_of(maps, 2), made, "HWC"))


def _follow(original: OperatorBase, call: op.Call) -> TrackPlan:
    """The shape rule of `follower_of`."""
    if call.size == 0:
        return plan_of(np.zeros((0, HEAD, COLUMNS)))
    given = call.inputs[0]
    several = frame_tracks(given)
    if several is not None:
        return _follow_frames(original, call, several)
    tracks = stacked_tracks(given)
    if call.frames is not None:
        tracks = single_frames(tracks, call.frames)
    layout, shapes = layout_of(tracks), shapes_of(tracks)
    made, maps, found = _moves(original, call, _images(shapes, layout, given), call.inputs[1:])
    return plan_of(followed(tracks, maps, made, found))


def _follow_frames(original: OperatorBase, call: op.Call, several: FrameTracks) -> TrackPlan:
    """The same for sequences whose frames have moved each in its own way, in a call that moves all
    frames of a sample alike."""
    tracks, counts = several.tracks, several.counts
    if len(tracks) == 0:
        return TrackPlan(several.folded(), tracks)
    # Of a sequence without frames the size is not known; no shape rule is asked about it.
    owners = np.flatnonzero(counts)
    firsts = (counts.cumsum() - counts)[owners]
    layout = layout_of(tracks)
    shapes = np.concatenate([counts[owners, None], shapes_of(tracks[firsts])], axis=1)
    chosen = Frames("", np.empty((0, 0), np.int64), owners, np.zeros(len(owners), np.int64))
    inputs = [chosen.unfold(one) for one in call.inputs[1:]]
    rows = {name: chosen.unfold(value) for name, value in call.given.items()}
    part = op.Call(call.operator, call.inputs, {}, len(owners), call.pool)
    part.given, part.key = rows, call.key
    part.positions = None if call.positions is None else call.positions[owners]
    images = _images(shapes, "F" + layout, chosen.unfold(call.inputs[0]))
    made, maps, found = _moves(original, part, images, tuple(inputs))
    if found[0] != "F" or (made[:, 0] != counts[owners]).any():
        raise op.OperatorTypeError(
            "targets of frames that have moved in different ways follow no operator that makes "
            "sequences of other frames",
            operator=original.name,
        )
    of_frames = np.repeat(np.arange(len(owners)), counts[owners])
    moved = followed(tracks, maps[of_frames], made[of_frames, 1:], found[1:])
    return TrackPlan(FrameTracks(moved, counts).folded(), moved)


def _images(shapes: Int64Array, layout: str, tracks: op.Batch) -> op.Batch:
    """Images of these shapes without elements, in place of those that have these tracks."""
    type = op.SampleType(op.uint8, len(layout), layout)
    batch_shape = op.BatchShape.of(shapes)
    return op.Batch.over(np.empty(0, np.uint8), batch_shape, type, tracks.provenance)


def _moves(
    original: OperatorBase, call: op.Call, images: op.Batch, others: tuple[op.Batch, ...]
) -> tuple[Int64Array, Float64Array, str]:
    """What an operator makes of such images: their shapes, the maps (N, 4, 4) and the layout.
    Raises OperatorTypeError if that is not one that targets follow."""
    layout = images.layout
    inner = _prepared(original, (images, *others), call)
    if call.frames is not None:
        common = call.frames.common(inner.batch_shapes[0].shapes)[call.frames.owners]
        inner.batch_shapes = (op.BatchShape.of(common), *inner.batch_shapes[1:])
    made, result = inner.batch_shapes[0].shapes, inner.types[0].layout or layout
    assert callable(original.moves)
    maps = np.asarray(original.moves(inner), np.float64)
    found = layout_for(result, made.shape[1])
    if len(spatial_axes(found)) != len(spatial_axes(layout)):
        raise op.OperatorTypeError(
            "targets follow images in as many dimensions as they have",
            expected=f"a layout with the letters of {layout!r}",
            got=repr(found),
            operator=original.name,
        )
    return made, matrices_of(maps, len(spatial_axes(found))), found


def past_of(original: OperatorBase) -> Follower:
    """The operator that makes, of the track and the past of images, the past behind an operator
    that bends them."""
    made: Follower = _kept(original, _PAST, _bend, write_rows)
    return made


def _bend(original: OperatorBase, call: op.Call) -> PastPlan:
    """The shape rule of `past_of`, whose inputs are the track, the inputs of the operator but the
    first, and the past."""
    if call.size == 0:
        return plan_of_rows([])
    tracks, *others, pasts = call.inputs
    check_flat(tracks, original.name)
    found = stacked_tracks(tracks)
    images = _images(shapes_of(found), layout_of(found), tracks)
    inner = _prepared(original, (images, *others), call)
    assert isinstance(original.moves, Bends)
    return bent(inner, original.moves.rule(inner), tracks, pasts, original.name)


def passed_on(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call on images that the call on tracks takes, too: not those about the
    elements and the node of the result."""
    left_out = {"dtype", "device", "name", "preserve", "bytes_per_sample_hint"}
    return {name: value for name, value in keywords.items() if name not in left_out}
