"""Clips decoded in parallel: each group of pictures that is needed once, in one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.errors import without_frames
from gradiva.eager.types.arrays import Array

from .color import planes_to_rgb
from .decoders import DecodeRange, Decoders
from .frame_decoder import FrameDecoder
from .frame_index import VideoIndex
from .video_file import VideoSource, check_memory

__all__ = [
    "BegunClips",
    "Clip",
    "DecodeClip",
    "decode_clips",
    "in_host_memory",
    "places_of",
    "show_clip",
    "video_shapes",
]


class Clip(NamedTuple):
    """frames: numbers, in any order, -1 for the fill value; target: uint8 (F, H, W, 3), in host
    memory or on a GPU; past: it is part of a batch that is too large for the caches."""

    source: VideoSource
    video: VideoIndex
    frames: op.Int64Array
    target: Any
    past: bool = False


DecodeClip = Callable[[Clip, FrameDecoder], None]
"""What fills the target of a clip. Raises FrameError, OSError."""
Failures: TypeAlias = "dict[int, ValueError | OSError]"


def video_shapes(clips: Sequence[tuple[int, VideoIndex | None]]) -> op.Int64Array:
    """The shapes of clips of so many frames; of none where there is no index."""
    rows = [(0, 0, 0, 3) if one is None else (count, *one.upright_shape, 3) for count, one in clips]
    return np.array(rows, np.int64).reshape(-1, 4)


def decode_clips(
    clips: dict[int, Clip], decoders: Decoders, pool: op.WorkerPool, decode_clip: DecodeClip
) -> Failures:
    """Fill the targets of clips, which have numbers of their own; what went wrong, by these."""
    work = _Work(clips, decoders, pool.num_threads, decode_clip)
    try:
        pool.run(work.decode, work.ranges)
    finally:
        work.leave()  # where the pool was told to stop
    return work.failures


class BegunClips:
    """Clips that are being decoded by a pool whose threads do it all, as `decode_clips` does."""

    def __init__(
        self,
        clips: dict[int, Clip],
        decoders: Decoders,
        pool: op.WorkerPool,
        decode_clip: DecodeClip,
    ) -> None:
        self._work = work = _Work(clips, decoders, pool.num_threads, decode_clip)
        try:
            self._wait = pool.begin(work.decode, work.ranges)
        except BaseException:
            work.leave()
            raise

    def wait(self) -> Failures:
        """Return when all is done, once; what went wrong, by the numbers of the clips."""
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        return self._work.failures

    def stop(self) -> None:
        """Have no more clips decoded. May be called by any thread."""
        self._work.stopped = True

    def __del__(self) -> None:
        if hasattr(self, "_work"):
            self.stop()


class _Work:
    """Clips in groups that one thread decodes, and the ways of decoders through these. stopped:
    nobody waits for them any more."""

    stopped = False

    def __init__(
        self, clips: dict[int, Clip], decoders: Decoders, threads: int, decode_clip: DecodeClip
    ) -> None:
        decoders.most = 2 * threads
        self._clips, self._decoders, self._decode_clip = clips, decoders, decode_clip
        self.failures: Failures = {}
        groups = _groups(clips)
        ways = decoders.plan([_decode_range(clips[group[0]], clips[group[-1]]) for group in groups])
        self._groups = list(zip(groups, ways, strict=True))
        if threads > 1:
            # The long ones first; and those last that may have to wait.
            self._groups.sort(key=lambda entry: (entry[1].waits, -len(entry[0])))
        self.ranges = [(one, one + 1) for one in range(len(groups))]

    def decode(self, begin: int, end: int) -> None:
        for group, way in self._groups[begin:end]:
            if self.stopped:
                self._decoders.leave(way)
                continue
            decoder = None
            try:
                for number in group:
                    if self.stopped:
                        break
                    clip = self._clips[number]
                    try:
                        if decoder is None:
                            decoder = self._decoders.take(way)
                        self._decode_clip(clip, decoder)
                        clip.source.check_unchanged()
                    except (ValueError, OSError) as error:
                        check_memory()
                        self.failures[number] = without_frames(error)
            finally:
                self._decoders.end(way, decoder)

    def leave(self) -> None:
        """Leave the ways that were not begun."""
        for _, way in self._groups:
            self._decoders.leave(way)


def _decode_range(first: Clip, last: Clip) -> DecodeRange:
    """Through a group of clips, ascending by their first frames."""
    return DecodeRange(first.source, first.video, _first(first), int(last.frames.max(initial=-1)))


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
            planes_to_rgb(
                picture, clip.target[first], colorspace, turns=clip.video.turns, past=clip.past
            )
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
