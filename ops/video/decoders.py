"""Open decoders of videos, and their ways: who goes on with which, also while it is at work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from .frame_decoder import FrameDecoder
from .frame_index import VideoIndex
from .video_file import VideoSource


class DecodeRange:
    """The way of a decoder through some frames of a video, from `first` to `last`, which have one
    key frame; -1 for none.

    waits: it goes on where a decoder of an earlier batch will end, and may have to wait for that.
    """

    def __init__(self, source: VideoSource, index: VideoIndex, first: int, last: int) -> None:
        self.source, self.index = source, index
        self.first, self.last = first, last
        self.begun = False
        """Whether a decoder was taken for it, or it was left."""
        self.decoder: FrameDecoder | None = None
        """What is kept for it."""
        self.follower: DecodeRange | None = None
        self.before: threading.Event | None = None
        """Set when that has ended which it waits for."""

    @property
    def waits(self) -> bool:
        return self.before is not None

    def leads_to(self, other: DecodeRange) -> bool:
        """Whether its decoder will come to another way without a seek, and nobody else has it."""
        return (
            self.follower is None
            and self.index is other.index
            and self.source.name == other.source.name != ""
            and -1 < self.last < other.first
            and self.last in self.index.group_of(other.first)
        )


class Decoders:
    """Decoders that are open and wait for further clips of their files, the latest ones. make: a
    new one. Several batches may be decoded at a time; those that were planned later wait for the
    earlier ones, so these have to be begun first."""

    def __init__(
        self, most: int, make: Callable[[VideoSource, VideoIndex], FrameDecoder] = FrameDecoder
    ) -> None:
        self.most = most
        self._make = make
        self._idle: list[FrameDecoder] = []
        self._under_way: list[DecodeRange] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def plan(self, ranges: Sequence[DecodeRange]) -> Sequence[DecodeRange]:
        """Keep for each way, of one batch, the decoder that comes to it without a seek, also if it
        is still at work for an earlier batch. Each way is to be ended, or left."""
        self._here()
        with self._lock:
            for frames in ranges:
                self._keep_for(frames)
            self._under_way += ranges
        return ranges

    def take(self, frames: DecodeRange) -> FrameDecoder:
        """The decoder for a way: what is kept for it, else the one of its video that is nearest
        before its beginning, or a new one. Raises what `FrameDecoder` does."""
        if frames.before is not None:
            frames.before.wait()
        with self._lock:
            frames.begun = True
            kept, frames.decoder = frames.decoder, None
            if kept is not None:
                return kept
            own = self._of(frames)
            fitting = [one for one in own if one.index is frames.index]
            nearest = min(fitting, key=lambda one: one.distance(frames.first), default=None)
            old = [one for one in own if one.index is not frames.index]
            for one in (*old, *fitting):
                if one in old or one is nearest:
                    self._idle.remove(one)
        for one in old:
            one.close()
        return nearest or self._make(frames.source, frames.index)

    def end(self, frames: DecodeRange, decoder: FrameDecoder | None) -> None:
        """A way was gone, to its end or to an error, by this decoder: it may be used again."""
        with self._lock:
            if frames in self._under_way:
                self._under_way.remove(frames)
            follower = frames.follower
            if follower is not None and follower.before is not None:
                if decoder and not follower.begun and decoder.passes(follower.first):
                    follower.decoder, decoder = decoder, None
                follower.before.set()
            unused = self._keep(decoder)
        for one in unused:
            one.close()

    def leave(self, frames: DecodeRange) -> None:
        """A way is not gone. Nothing happens where it was, or is."""
        with self._lock:
            if frames.begun:
                return
            frames.begun = True
            kept, frames.decoder = frames.decoder, None
        self.end(frames, kept)

    def close(self) -> None:
        """Close all that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    def _keep_for(self, frames: DecodeRange) -> None:
        """Keep for a way the nearest decoder that comes to its beginning without a seek."""
        waiting = [
            one
            for one in self._of(frames)
            if one.index is frames.index and one.passes(frames.first)
        ]
        nearest = max(waiting, key=lambda one: one.at, default=None)
        leading = [one for one in self._under_way if one.leads_to(frames)]
        before = max(leading, key=lambda one: one.last, default=None)
        if before is not None and (nearest is None or nearest.at < before.last):
            before.follower, frames.before = frames, threading.Event()
        elif nearest is not None:
            self._idle.remove(nearest)
            frames.decoder = nearest

    def _of(self, frames: DecodeRange) -> list[FrameDecoder]:
        """The decoders that wait with the video of a way open."""
        return [one for one in self._idle if frames.source.name and one.name == frames.source.name]

    def _keep(self, decoder: FrameDecoder | None) -> list[FrameDecoder]:
        """Let a decoder wait; those that are too many are returned."""
        if decoder is None:
            return []
        if not decoder.name:
            return [decoder]
        self._idle.append(decoder)
        unused = self._idle[: max(len(self._idle) - self.most, 0)]
        del self._idle[: len(unused)]
        return unused

    def _here(self) -> None:
        """After a fork the place in an open file is that of two processes, and threads are gone."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lock, self._under_way = threading.Lock(), []
            self.close()
