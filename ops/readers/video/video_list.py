"""Which videos a reader reads, with their labels and the ranges that lists give."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.readers.core.containers import BLANKS, text_lines
from gradiva.ops.readers.listing import list_root, path_in_list
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import local_path
from gradiva.ops.video.frame_index import VideoIndex

_WORDS: Final = re.compile(rf'"([^"]*)"|([^{BLANKS}]+)')
_ROUNDINGS: Final = {
    "start_down_end_up": (False, True),
    "start_up_end_down": (True, False),
    "all_up": (True, True),
    "all_down": (False, False),
}


class ListedVideo(NamedTuple):
    """start, end: in seconds or frames, as the list has them; NaN for none."""

    path: str
    label: int
    start: float = math.nan
    end: float = math.nan


class Ranges(NamedTuple):
    """How `start` and `end` of lists become frames. seconds: they are not frames already; up: of
    both, whether to round up."""

    seconds: bool
    up: tuple[bool, bool]

    @staticmethod
    def of(form: str, rounding: str) -> Ranges:
        """Raises OperatorValueError."""
        if form not in ("timestamps", "frames"):
            raise op.wrong_value("file_list_format", "'timestamps' or 'frames'", repr(form))
        if rounding not in _ROUNDINGS:
            expected = "one of " + ", ".join(map(repr, _ROUNDINGS))
            raise op.wrong_value("file_list_rounding", expected, repr(rounding))
        return Ranges(form == "timestamps", _ROUNDINGS[rounding])

    def frames(self, video: ListedVideo, index: VideoIndex) -> tuple[int, int]:
        """The first frame of the range, and the one behind the last."""
        begin = self._frame(video.start, index, self.up[0], 0)
        return begin, self._frame(video.end, index, self.up[1], len(index))

    def _frame(self, value: float, index: VideoIndex, up: bool, default: int) -> int:
        if math.isnan(value):
            return default
        if self.seconds:
            # Times in lists are rounded: what is a millionth of a second off is meant to be exact.
            times = index.seconds_in_file()
            if up:
                return int(np.searchsorted(times, value - 1e-6, "left"))
            # The last frame ends where the next one would begin.
            if default and value >= times[-1] + 1 / index.rate - 1e-6:
                return default
            return max(int(np.searchsorted(times, value + 1e-6, "right")) - 1, 0)
        number = math.ceil(value) if up else math.floor(value)
        return min(max(number + len(index) if value < 0 else number, 0), len(index))


def listed_videos(
    given: Mapping[str, Any], storage: Storage, number_files: bool
) -> tuple[list[ListedVideo], bool, list[str] | None]:
    """The videos in the order of the data set, whether they have labels, and the name of each label
    where folders are numbered. number_files: an empty list of labels stands for the numbers of the
    files. Raises OperatorValueError."""
    names = ("filenames", "file_list", "file_root")
    if sum(bool(given[name]) for name in names) != 1:
        raise op.OperatorValueError("give exactly one of `filenames`, `file_list` and `file_root`")
    labels = given["labels"]
    if labels is not None and not given["filenames"]:
        raise op.OperatorValueError("`labels` belong to `filenames`, which were not given")
    if given["filenames"]:
        return _named(given["filenames"], labels, number_files), labels is not None, None
    if given["file_list"]:
        return _in_list(given["file_list"], storage), True, None
    videos, classes = _in_folders(given["file_root"], storage)
    return videos, True, classes


def _named(files: Any, labels: Any, number_files: bool) -> list[ListedVideo]:
    if labels is None or (number_files and not labels):
        labels = range(len(files))
    if len(labels) != len(files):
        raise op.wrong_value("labels", f"one for each file, {len(files)}", len(labels))
    return [ListedVideo(local_path(file), one) for file, one in zip(files, labels, strict=True)]


def _in_list(listed: str, storage: Storage) -> list[ListedVideo]:
    listed = local_path(listed)
    found = []
    for number, line in enumerate(text_lines(listed, "file_list", storage), 1):
        words = [quoted or plain for quoted, plain in _WORDS.findall(line)]
        if not words:
            continue
        video = _video_of(words, listed)
        if video is None:
            raise op.OperatorValueError(
                argument="file_list",
                expected="lines of the form 'path label [start [end]]', with a label from 0 on",
                got=f"line {number}: {line!r}",
                file=listed,
            )
        if video.start == video.end:
            warnings.warn(
                f"line {number} of {listed}: the range is empty, and left out", stacklevel=2
            )
            continue
        found.append(video)
    if not found:
        raise op.wrong_value("file_list", "at least one video", "none").complete(file=listed)
    return found


def _video_of(words: list[str], listed: str) -> ListedVideo | None:
    """What a line of a list says; None if that cannot be understood."""
    path, *rest = words
    if not 1 <= len(rest) <= 3 or not rest[0].isdecimal() or int(rest[0]) >= 1 << 31:
        return None
    try:
        times = [float(word) for word in rest[1:]]
    except ValueError:
        return None
    if "\0" in path or not all(map(math.isfinite, times)):
        return None
    return ListedVideo(local_path(path_in_list(path, listed)), int(rest[0]), *times)


def _in_folders(root: str, storage: Storage) -> tuple[list[ListedVideo], list[str]]:
    _, folders, listed = list_root(root, storage)
    found = [
        ListedVideo(entry.path, label)
        for label, entries in enumerate(listed)
        for entry in entries
        if entry.is_file
    ]
    if not found:
        expected = "a folder with one folder per label, holding videos"
        raise op.wrong_value("file_root", expected, f"{root!r}, with {len(folders)} folders")
    return found, [entry.name for entry in folders]
