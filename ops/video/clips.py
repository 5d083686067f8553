"""Clips decoded in parallel: each group of pictures that is needed once, in one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array

from .color import planes_to_rgb
from .frame_decoder import FrameDecoder
from .frame_index import VideoIndex
from .video_file import VideoSource

__all__ = [
    "Clip",
    "DecodeClip",
    "Decoders",
    "decode_clips",
    "in_host_memory",
    "places_of",
    "show_clip",
    "video_shapes",
]


class Clip(NamedTuple):
    """frames: numbers, in any order, -1 for the fill value; target: uint8 (F, H, W, 3), in host
    memory or on a GPU."""

    source: VideoSource
    video: VideoIndex
    frames: op.Int64Array
    target: Any


DecodeClip = Callable[[Clip, FrameDecoder], None]
"""What fills the target of a clip. Raises FrameError, OSError."""


class Decoders:
    """Decoders that are open and wait for further clips of their files, the latest ones. make: a
    new one."""

    def __init__(
        self, most: int, make: Callable[[VideoSource, VideoIndex], FrameDecoder] = FrameDecoder
    ) -> None:
        self.most = most
        self._make = make
        self._idle: list[FrameDecoder] = []
        self._process = os.getpid()

    def going_on(self, source: VideoSource, index: VideoIndex, frame: int) -> FrameDecoder | None:
        """A decoder of this video that comes to the frame without a seek, if there is one."""
        self._here()
        fitting = [
            one
            for one in self._idle
            if source.name and one.name == source.name and one.index is index and one.passes(frame)
        ]
        if not fitting:
            return None
        nearest = max(fitting, key=lambda one: one.at)
        self._idle.remove(nearest)
        return nearest

    def take(self, source: VideoSource, index: VideoIndex, frame: int) -> FrameDecoder:
        """A decoder of this video: the one that is nearest before the frame, or a new one. Raises
        what `FrameDecoder` does."""
        self._here()
        fitting = [one for one in self._idle if source.name and one.name == source.name]
        while fitting:
            nearest = min(fitting, key=lambda one: one.distance(frame))
            try:
                self._idle.remove(nearest)
            except ValueError:  # another thread has taken it
                fitting.remove(nearest)
                continue
            if nearest.index is index:
                return nearest
            nearest.close()
            fitting.remove(nearest)
        return self._make(source, index)

    def give(self, decoder: FrameDecoder) -> None:
        """A decoder that may be used again."""
        if not decoder.name:
            decoder.close()
            return
        self._idle.append(decoder)
        while len(self._idle) > self.most:
            try:
                oldest = self._idle.pop(0)
            except IndexError:
                return
            oldest.close()

    def close(self) -> None:
        """Close all that wait."""
        while self._idle:
            self._idle.pop().close()

    def _here(self) -> None:
        """After a fork the place in an open file is that of two processes."""
        if self._process != os.getpid():
            self.close()
            self._process = os.getpid()


def video_shapes(clips: Sequence[tuple[int, VideoIndex | None]]) -> op.Int64Array:
    """The shapes of clips of so many frames; of none where there is no index."""
    rows = [(0, 0, 0, 3) if one is None else (count, *one.upright_shape, 3) for count, one in clips]
    return np.array(rows, np.int64).reshape(-1, 4)


def decode_clips(
    clips: dict[int, Clip], decoders: Decoders, pool: op.WorkerPool, decode_clip: DecodeClip
) -> dict[int, ValueError | OSError]:
    """Fill the targets of clips, which have numbers of their own; what went wrong, by these."""
    decoders.most = 2 * pool.num_threads
    failures: dict[int, ValueError | OSError] = {}
    groups = _groups(clips)
    # Who stands before a frame goes on to it, whichever thread comes first.
    ready = {}
    for group in groups:
        clip = clips[group[0]]
        ready[group[0]] = decoders.going_on(clip.source, clip.video, _first(clip))
    if pool.num_threads > 1:
        groups.sort(key=len, reverse=True)

    def decode(begin: int, end: int) -> None:
        for group in groups[begin:end]:
            decoder = ready.pop(group[0])
            for number in group:
                clip = clips[number]
                try:
                    if decoder is None:
                        decoder = decoders.take(clip.source, clip.video, _first(clip))
                    decode_clip(clip, decoder)
                except (ValueError, OSError) as error:
                    failures[number] = error
            if decoder is not None:
                decoders.give(decoder)

    try:
        pool.run(decode, [(one, one + 1) for one in range(len(groups))])
    finally:
        for decoder in ready.values():  # where the pool was told to stop
            if decoder is not None:
                decoders.give(decoder)
    return failures


def _first(clip: Clip) -> int:
    """The first frame that is decoded; -1 for none."""
    kept = clip.frames[clip.frames >= 0]
    return int(kept.min()) if kept.size else -1


def _groups(clips: dict[int, Clip]) -> list[list[int]]:
    """Numbers of clips that one thread decodes, one after another: of one video, where the first
    frames have one key frame. Ascending by frames within a video."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, clip in sorted(clips.items(), key=lambda entry: _first(entry[1])):
        first = _first(clip)
        key = clip.video.key_of(first) if first >= 0 else -1
        found.setdefault((id(clip.video), key), []).append(number)
    return list(found.values())


def in_host_memory(fill: Array, colorspace: str | None) -> DecodeClip:
    """What fills targets in host memory."""

    def decode(clip: Clip, decoder: FrameDecoder) -> None:
        places = places_of(clip.frames)
        for place in places.pop(-1, ()):
            clip.target[place] = fill
        for frame, picture in decoder.frames(sorted(places)):
            first, *others = places[frame]
            planes_to_rgb(picture, clip.target[first], colorspace, turns=clip.video.turns)
            for place in others:
                clip.target[place] = clip.target[first]

    return decode


def show_clip(clip: Clip, fill: Array, colorspace: str | None, show: Callable[[int], None]) -> None:
    """Put one frame after another into the target, (H, W, 3), and each time say which place in the
    clip it has, by `show`. Raises FrameError, OSError."""
    places = places_of(clip.frames)
    for place in places.pop(-1, ()):
        clip.target[...] = fill
        show(place)
    if not places:
        return
    decoder = FrameDecoder(clip.source, clip.video)
    try:
        for frame, picture in decoder.frames(sorted(places)):
            planes_to_rgb(picture, clip.target, colorspace, turns=clip.video.turns)
            for place in places[frame]:
                show(place)
    finally:
        decoder.close()


def places_of(frames: op.Int64Array) -> dict[int, list[int]]:
    """The places in a clip that each frame has."""
    places: dict[int, list[int]] = {}
    for place, frame in enumerate(frames.tolist()):
        places.setdefault(frame, []).append(place)
    return places
