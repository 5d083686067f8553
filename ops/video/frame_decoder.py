"""The frames of one video by their numbers: seeks, and decodes from the key frame that is needed.

A frame is delivered if its time is the one that the index has for its number, and nothing went
wrong since the key frame; else it is an error of the video.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from .decoded_scan import FLAGGED
from .frame_index import VideoIndex
from .packet_decoder import AvPackets, PacketDecoder, PacketError
from .video_file import Opened, VideoSource, av, check_memory

_LEAVING_OUT: Final = ("h264", "hevc", "mpeg1video", "mpeg2video", "mpeg4")
"""Codecs whose decoders leave out just the frames that they are told to."""
_NEAR: Final = 3
"""Frames before a later key frame that are decoded in passing rather than to seek to it."""


class FrameError(ValueError):
    """A frame that cannot be decoded. frame: its number."""

    def __init__(self, frame: int, problem: str) -> None:
        super().__init__(f"frame {frame} cannot be decoded: {problem}")
        self.frame = frame


class FrameDecoder:
    """An open video, and the place in it. decoder_of: the decoder of its packets, which is closed
    once; asked for again, possibly the same one, when the video is opened again."""

    def __init__(
        self,
        source: VideoSource,
        index: VideoIndex,
        decoder_of: Callable[[Opened], PacketDecoder] = AvPackets,
        tolerant: bool = False,
    ) -> None:
        self._source, self.index = source, index
        self.name = source.name
        self._decoder_of = decoder_of
        self._tolerant = tolerant or index.tolerant
        self._opened: Opened | None = source.open(self._tolerant)
        try:
            self._decoder = decoder_of(self._opened)
        except BaseException:
            self._opened.close()
            raise
        self._at_the_beginning = True
        """Whether nothing has been read since the video was opened."""
        self._packets: Iterator[Any] = iter(())
        self._ready: list[Any] = []
        self.at = -1
        """The number of the last frame that was decoded."""
        self._group = range(0)
        """Frames with one key frame, the latest ones."""
        self._waiting: Any = None
        """The packet of a key frame, behind the last frame that was wanted."""
        self._started = self._spoiled = self._damaged = False
        self._counted = self._begin = 0
        self._problem = ""
        self._bad: dict[tuple[Any, Any, Any], str] = {}
        """Packets that cannot be decoded, and why."""
        self._discovered = False
        self._unclean = index.tolerant and len(index.damaged) > 0
        """Whether the decoder has met damage, or may have: what it keeps of that shows in later
        pictures, also behind a seek."""
        self._damaged_frames = frozenset(index.damaged.tolist())
        self._overruled: dict[int, bool] = {}
        """By the key frame: whether a tolerant decoder shows the whole group of pictures."""
        self._may_overrule = (
            decoder_of is AvPackets and not self._tolerant and self._opened.codec in FLAGGED
        )
        self._skips = (
            self._decoder.leaves_out
            and not index.counted
            and not self._tolerant
            and self._opened.codec in _LEAVING_OUT
        )
        self._skips_to_keys = not index.counted and self._opened.codec == "h264"
        self._skipping = False
        self._wanted: frozenset[int] = frozenset()
        self._last = 0

    def close(self) -> None:
        """Nothing will be decoded any more."""
        opened, self._opened = self._opened, None
        self._packets, self._ready, self._waiting = iter(()), [], None
        self._spoiled = True
        self._decoder.close()
        if opened is not None:
            opened.close()

    def frames(self, wanted: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Each of these frames, ascending and different ones, with its number. Raises FrameError,
        and OSError where the file cannot be read."""
        times = self.index.times
        self._wanted = frozenset(times[number].item() for number in wanted)
        self._last = max(self._wanted, default=0)
        for number in wanted:
            yield number, self._frame(number)

    def distance(self, number: int) -> int:
        """How many frames are decoded until there is this one."""
        if self.passes(number):
            return number - self.at
        return number - self.index.group_of(number).start + len(self.index)

    def _frame(self, number: int) -> Any:
        if number in self._damaged_frames:
            raise FrameError(number, "the data are damaged")
        if self.passes(number):
            found = self._forward(number)
            if found is not None:
                return found
        self._be_tolerant(self._overruled.get(self.index.key_of(number), False))
        found = self._from_a_key(number)
        if found is None and self._damaged and self._may_overrule:
            found = self._overruling(number)
        if found is None and self._damaged and self._discovered:
            # The decoder may have lost what it had before the damage, of which it knows by now.
            found = self._from_a_key(number)
        if found is not None:
            return found
        self._spoiled = True
        self._check_memory()
        raise FrameError(number, self._problem or "the decoder does not return it")

    def _check_memory(self) -> None:
        """Raise MemoryError where that is what is missing, and forget what was said of packets."""
        height, width = self.index.shape
        try:
            check_memory(height * width)
        except MemoryError:
            self._bad.clear()
            self._overruled.clear()
            raise

    def _overruling(self, number: int) -> Any:
        """A frame of a group of pictures in which the decoder was too strict; None if it was not.
        It refuses what refers to frames that are not there, whether they are needed or not."""
        key = self.index.key_of(number)
        if key not in self._overruled:
            self._overruled[key] = self._is_shown_whole(self.index.group_of(number))
        if not self._overruled[key]:
            return None
        self._be_tolerant(True)
        return self._from_a_key(number)

    def _is_shown_whole(self, group: range) -> bool:
        """Whether a tolerant decoder has nothing to complain of in a group of pictures."""
        other = FrameDecoder(self._source, self.index, tolerant=True)
        try:
            for _ in other.frames(group):
                pass
        except FrameError:
            return False
        finally:
            other.close()
        return True

    def _be_tolerant(self, tolerant: bool) -> None:
        """Open the video again where another decoder is needed."""
        if self._may_overrule and tolerant != self._tolerant:
            self._tolerant = tolerant
            if self._opened is not None:
                self._opened.close()
            self._opened, self._packets = None, iter(())

    def _from_a_key(self, number: int) -> Any:
        """A frame, decoded from a key frame on; None if it does not come."""
        key = self.index.key_of(number)
        # Where containers are wrong about key frames, an earlier one may do.
        begins = dict.fromkeys((key, max(key - 1, -1), -1))
        for again, begin in enumerate((key, *begins)):
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

    def passes(self, number: int) -> bool:
        """Whether the way to a frame is to go on, without a seek."""
        if not self._started or self._spoiled or number <= self.at:
            return False
        if number not in self._group:
            self._group = self.index.group_of(number)
        if self._unclean or (self._may_overrule and self._tolerant):
            return self.at in self._group
        return self.at in self._group or self._group.start - self.at <= _NEAR

    def _start(self, key: int) -> bool:
        """Go to a key frame, and say whether it is there."""
        self._ready, self._waiting, self._counted = [], None, 0
        # Spoiled until the video is there: a file that has changed cannot be opened again.
        self._problem, self._spoiled, self._damaged, self._started = "", True, False, True
        self._discovered = False
        self.at, self._begin = -1, 0
        if key <= 0 or self._unclean or self._opened is None or self._opened.problem is not None:
            self._reopen()
        self._spoiled = False
        if key <= 0:
            self._packets = self._demuxed()
            return True
        self._begin = self.index.first_of(key)
        self.at = self._begin - 1
        shown, decoded = self.index.keys[key].tolist()
        assert self._opened is not None
        self._at_the_beginning = False
        stream = self._opened.stream
        for time in dict.fromkeys((decoded, shown)):
            try:
                self._opened.container.seek(time, stream=stream, backward=True)
            except av.FFmpegError:
                continue
            self._decoder.restart()
            self._packets = self._demuxed()
            first = self._skipped(shown, decoded)
            if first is not None:
                self._packets = _joined(first, self._packets)
                return True
        self._problem = "its key frame is not found"
        return False

    def _reopen(self) -> None:
        """Go to the beginning: not all formats can be told to."""
        before = self._opened
        if before is not None:
            if self._at_the_beginning and before.problem is None:
                return
            self._opened, self._packets = None, iter(())
            before.close()
        opened = self._source.open(self._tolerant)
        try:
            self._decoder = self._decoder_of(opened)
        except BaseException:
            opened.close()
            raise
        self._opened, self._skipping = opened, False
        self._unclean = self.index.tolerant and len(self.index.damaged) > 0

    def _demuxed(self) -> Iterator[Any]:
        assert self._opened is not None
        self._at_the_beginning = False
        return self._opened.packets()

    def _skipped(self, shown: int, decoded: int) -> Any:
        """The packet of a key frame, behind those that stand before it."""
        try:
            for packet in self._packets:
                if packet.pts == shown and packet.is_keyframe:
                    return packet
                if packet.dts is not None and packet.dts > max(shown, decoded):
                    return None
        except (av.FFmpegError, EOFError):
            pass
        self._raise_unread()
        return None

    def _raise_unread(self) -> None:
        """Raise OSError, if that is what went wrong."""
        if self._opened is not None and self._opened.problem is not None:
            self._spoiled = True
            self._opened.check_read()

    def _forward(self, number: int) -> Any:
        """Decode until there is a frame; None if it does not come."""
        while True:
            frame = self._next()
            if frame is None:
                return None
            found = self._number_of(frame)
            if found is None:
                continue
            if frame.is_corrupt and not self.index.tolerant:
                self._problem, self._spoiled = "it is damaged", True
                self._damaged, self._unclean = self._tolerant, True
                return None
            if found < self._begin:  # it refers to what is before the key frame
                continue
            if found <= self.at:
                self._problem = "frames come in another order than they are shown"
                self._spoiled = True
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
        time, times, following = frame.pts, self.index.times, self.at + 1
        if time is None:
            return None
        if following < len(times) and times.item(following) == time:
            return following
        found = int(np.searchsorted(times, time))
        return found if found < len(times) and times[found] == time else None

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
                packet, self._waiting = self._waiting, None
                if packet is not None:
                    self._decoder.restart()
                else:
                    packet = next(self._packets, None)
                    self._raise_unread()
                    if packet is not None and self._ends(packet):
                        self._waiting = packet
                        self._ready = self._decoder.drain()[::-1]
                        continue
                if packet is None:
                    self._spoiled = True
                    return None
                if self._bad and not self._tolerant and _place(packet) in self._bad:
                    self._spoil(self._bad[_place(packet)])
                    continue
                self._pass_by(packet)
                try:
                    found = self._decoder.decode(packet)
                except PacketError as error:
                    if self.index.tolerant:
                        continue
                    self._bad[_place(packet)] = str(error)
                    self._discovered = True
                    self._spoil(str(error), packet)
                    continue
                if len(found) == 1:
                    return found[0]
                self._ready = found[::-1]
            except (av.FFmpegError, EOFError, PacketError) as error:
                self._raise_unread()
                self._spoil(_reason(error))
        return self._ready.pop()

    def _ends(self, packet: Any) -> bool:
        """Whether all that is wanted is in the decoder, and nothing from here on refers to it: to
        get it out, nothing further has to be decoded."""
        if not self._skips_to_keys or not packet.is_keyframe or packet.pts is None:
            return False
        at = int(np.searchsorted(self.index.keys[:, 0], packet.pts))
        is_key = at < len(self.index.keys) and self.index.keys[at, 0] == packet.pts
        return is_key and packet.pts > self._last

    def _pass_by(self, packet: Any) -> None:
        """Have the decoder leave out a frame that nobody wants, and that no other one refers to."""
        if self._skips:
            time = packet.pts
            skipped = time is not None and time < self._last and time not in self._wanted
            if skipped != self._skipping:
                self._skipping = skipped
                self._decoder.leave_out(skipped)

    def _spoil(self, reason: str, refused: Any = None) -> None:
        """What was decoded before the damage is good; nothing behind it is, up to a key frame, nor
        what a decoder made of a packet that it then refused."""
        self._problem = f"the data are damaged: {reason}"
        self._spoiled = self._damaged = self._unclean = True
        try:
            found = self._decoder.drain()[::-1]
        except PacketError:
            found = []
        if refused is not None:
            known = not self.index.counted
            found = [frame for frame in found if known and frame.pts != refused.pts]
        self._ready = found


def _place(packet: Any) -> tuple[Any, Any, Any]:
    return packet.pts, packet.dts, packet.pos


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _joined(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
