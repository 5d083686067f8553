"""The frames of one video by their numbers: seeks, and decodes from the key frame that is needed.

A frame is delivered if its time is the one that the index has for its number, and nothing went
wrong since the key frame; else it is an error of the video.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from .frame_index import VideoIndex
from .video_file import Opened, VideoSource, av

__all__ = ["FrameDecoder", "FrameError"]

_LEAVING_OUT: Final = ("h264", "hevc", "mpeg1video", "mpeg2video", "mpeg4")
"""Codecs whose decoders leave out just the frames that they are told to."""
_NEAR: Final = 10
"""Frames that are decoded in passing rather than to seek to a later key frame."""


class FrameError(ValueError):
    """A frame that cannot be decoded. frame: its number."""

    def __init__(self, frame: int, problem: str) -> None:
        super().__init__(f"frame {frame} cannot be decoded: {problem}")
        self.frame = frame


class FrameDecoder:
    """An open video, and the place in it."""

    def __init__(self, source: VideoSource, index: VideoIndex) -> None:
        self._source, self.index = source, index
        self.name = source.name
        self._opened: Opened | None = source.open()
        self._packets: Iterator[Any] = iter(())
        self._ready: list[Any] = []
        self.at = -1
        """The number of the last frame that was decoded."""
        self._started = self._spoiled = self._damaged = False
        self._counted = 0
        self._problem = ""
        self._bad: dict[tuple[Any, Any, Any], str] = {}
        """Packets that cannot be decoded, and why."""
        self._discovered = False
        self._skips = not index.counted and self._opened.codec in _LEAVING_OUT
        self._skipping = False
        self._wanted: frozenset[int] = frozenset()
        self._last = 0

    def close(self) -> None:
        """Nothing will be decoded any more."""
        opened, self._opened = self._opened, None
        self._packets, self._ready = iter(()), []
        if opened is not None:
            opened.close()

    def frames(self, wanted: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Each of these frames, ascending and different ones, with its number. Raises FrameError,
        and OSError where the file cannot be read."""
        self._wanted = (
            frozenset(self.index.times[[*wanted]].tolist()) if len(wanted) else frozenset()
        )
        self._last = max(self._wanted, default=0)
        for number in wanted:
            yield number, self._frame(number)

    def distance(self, number: int) -> int:
        """How many frames are decoded until there is this one."""
        if self._started and not self._spoiled and self._passes(number):
            return number - self.at
        return number - self._first_of(self._key_of(number)) + len(self.index)

    def _frame(self, number: int) -> Any:
        if self._started and not self._spoiled and self._passes(number):
            found = self._forward(number)
            if found is not None:
                return found
        found = self._from_a_key(number)
        if found is None and self._damaged and self._discovered:
            # The decoder may have lost what it had before the damage, of which it knows by now.
            found = self._from_a_key(number)
        if found is not None:
            return found
        problem = self._problem or "the decoder does not return it"
        self._spoiled = True
        raise FrameError(number, problem)

    def _from_a_key(self, number: int) -> Any:
        """A frame, decoded from a key frame on; None if it does not come."""
        key = self._key_of(number)
        # Where containers are wrong about key frames, an earlier one may do.
        for again, begin in enumerate((key, key, max(key - 1, -1), -1)):
            if again == 1 and not self._skips:
                continue
            self._skips = self._skips and not again
            if self._start(begin):
                found = self._forward(number)
                if found is not None:
                    return found
            if self._damaged:
                break
        return None

    def _passes(self, number: int) -> bool:
        """Whether the way to a frame is to go on."""
        if number <= self.at:
            return False
        return number - self.at <= _NEAR or self._key_of(number) == self._key_of(self.at)

    def _key_of(self, number: int) -> int:
        """The last key frame from which a frame can be decoded; -1: from the beginning on."""
        if self.index.counted or number < 0:
            return -1
        keys = self.index.keys[:, 0]
        return int(np.searchsorted(keys, self.index.times[number], "right")) - 1

    def _first_of(self, key: int) -> int:
        """The number of a key frame."""
        if key < 0:
            return 0
        return int(np.searchsorted(self.index.times, self.index.keys[key, 0]))

    def _start(self, key: int) -> bool:
        """Go to a key frame, and say whether it is there."""
        self._ready, self._counted = [], 0
        self._problem, self._spoiled, self._damaged, self._started = "", False, False, True
        self._discovered = False
        self.at = -1
        if key <= 0 or self._opened is None:
            self._reopen()
        if key <= 0:
            self._packets = self._demuxed()
            return True
        self.at = self._first_of(key) - 1
        shown, decoded = self.index.keys[key].tolist()
        assert self._opened is not None
        stream = self._opened.stream
        for time in dict.fromkeys((decoded, shown)):
            try:
                self._opened.container.seek(time, stream=stream, backward=True)
            except av.FFmpegError:
                continue
            self._packets = self._demuxed()
            first = self._skipped(shown, decoded)
            if first is not None:
                self._packets = _joined(first, self._packets)
                return True
        self._problem = "its key frame is not found"
        return False

    def _reopen(self) -> None:
        """Go to the beginning: not all formats can be told to."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None
        self._opened = self._source.open()
        self._skipping = False

    def _demuxed(self) -> Iterator[Any]:
        assert self._opened is not None
        demuxed: Iterator[Any] = self._opened.container.demux(self._opened.stream)
        return demuxed

    def _skipped(self, shown: int, decoded: int) -> Any:
        """The packet of a key frame, behind those that stand before it."""
        try:
            for packet in self._packets:
                if packet.pts == shown and packet.is_keyframe:
                    return packet
                if packet.dts is not None and packet.dts > max(shown, decoded):
                    return None
        except (av.FFmpegError, EOFError):
            self._raise_unread()
        return None

    def _raise_unread(self) -> None:
        """Raise OSError, if that is what went wrong."""
        if self._opened is not None and self._opened.problem is not None:
            self._spoiled = True
            raise self._opened.problem

    def _forward(self, number: int) -> Any:
        """Decode until there is a frame; None if it does not come."""
        while True:
            frame = self._next()
            if frame is None:
                return None
            found = self._number_of(frame)
            if found is None:
                continue
            if frame.is_corrupt:
                self._problem, self._spoiled = "it is damaged", True
                return None
            if found <= self.at:
                self._problem, self._spoiled = (
                    "frames come in another order than they are shown",
                    True,
                )
                return None
            self.at = found
            if found == number:
                self._check(frame)
                return frame
            if found > number:
                return None

    def _number_of(self, frame: Any) -> int | None:
        """The number of a decoded frame; None of one that is not to be shown."""
        if self.index.counted:
            self._counted += 1
            return self._counted - 1
        if frame.pts is None:
            return None
        times = self.index.times
        found = int(np.searchsorted(times, frame.pts))
        return found if found < len(times) and times[found] == frame.pts else None

    def _check(self, frame: Any) -> None:
        if (frame.height, frame.width) != self.index.shape:
            height, width = self.index.shape
            raise FrameError(
                self.at,
                f"it has {frame.width} x {frame.height} pixels, and the video {width} x {height}",
            )

    def _next(self) -> Any:
        """The next frame that the decoder returns; None at the end, and behind damage."""
        while not self._ready:
            if self._spoiled:
                return None
            try:
                packet = next(self._packets, None)
                if packet is None:
                    self._spoiled = True
                    return None
                place = packet.pts, packet.dts, packet.pos
                if place in self._bad:
                    self._spoil(self._bad[place])
                    continue
                self._pass_by(packet)
                try:
                    self._ready = packet.decode()[::-1]
                except av.FFmpegError as error:
                    self._bad[place] = _reason(error)
                    self._discovered = True
                    self._spoil(self._bad[place])
            except (av.FFmpegError, EOFError) as error:
                self._raise_unread()
                self._spoil(_reason(error))
        return self._ready.pop()

    def _pass_by(self, packet: Any) -> None:
        """Have the decoder leave out a frame that nobody wants, and that no other one refers to."""
        if self._skips:
            time = packet.pts
            skipped = time is not None and time < self._last and time not in self._wanted
            if skipped != self._skipping:
                self._skipping = skipped
                packet.stream.codec_context.skip_frame = "NONREF" if skipped else "DEFAULT"

    def _spoil(self, reason: str) -> None:
        """What was decoded before the damage is good; nothing behind it is, up to a key frame."""
        self._problem = f"the data are damaged: {reason}"
        self._spoiled = self._damaged = True
        assert self._opened is not None
        try:
            self._ready = self._opened.stream.codec_context.decode(None)[::-1]
        except (av.FFmpegError, EOFError):
            self._ready = []


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _joined(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
