"""The table of clips, and what is made of their frames."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.cupy_runtime import gpu_of
from gradiva.eager.execution.gpu_copies import fill_launch
from gradiva.eager.simd.streaming import use_nontemporal
from gradiva.eager.types.arrays import Array
from gradiva.eager.types.device import CPU
from gradiva.ops.readers.core.files import prefetch_files, unreadable
from gradiva.ops.readers.core.identities import file_identities
from gradiva.ops.readers.core.labels import LabelForm
from gradiva.ops.readers.core.table import BegunRead, Failures, Records, Table, column
from gradiva.ops.readers.listing import digest_of
from gradiva.ops.storage.ranges import Want
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import is_url
from gradiva.ops.video.clip_frames import clip_starts, padded, uniform_frames
from gradiva.ops.video.clips import BegunClips, Clip, decode_clips, in_host_memory, video_shapes
from gradiva.ops.video.decoders import Decoders
from gradiva.ops.video.frame_index import VideoIndex
from gradiva.ops.video.nvdec.clips import GpuDecoders

from .video_files import ScannedVideo, VideoFiles
from .video_list import ListedVideo, Ranges

__all__ = ["ClipOptions", "VideoTable"]

Finish = Callable[[op.Batch, op.WorkerPool], op.Batch]
"""What makes the output of decoded clips."""


class ClipOptions(NamedTuple):
    """length, stride: of clips, in frames; span: frames that a clip takes up; step: from one clip
    to the next; numbers: "none", "scalar" or "sequence"; drops: what no video can be in is left
    out, with a warning; upright: frames are turned as their files say; classes: the name of each
    label, where labels are numbers of folders."""

    length: int
    stride: int
    span: int
    step: int
    uniform: bool
    pad_mode: str
    fill: Array
    numbers: str
    times: bool
    labels: bool
    drops: bool
    colorspace: str | None
    upright: bool
    label_form: LabelForm
    classes: list[str] | None


class _ClipRequest(NamedTuple):
    """Samples that were asked for. made: the batch that clips are decoded into; columns: the other
    outputs; names: of the files, by sample."""

    made: op.Batch
    clips: dict[int, Clip]
    failures: Failures
    columns: list[op.Batch]
    names: list[str]


class _BegunClips(NamedTuple):
    """Samples that are being decoded."""

    table: VideoTable
    asked: _ClipRequest
    begun: BegunClips

    def wait(self, pool: op.WorkerPool) -> Records:
        return self.table._records(self.asked, self.begun.wait(), pool)

    def stop(self) -> None:
        self.begun.stop()


class VideoTable(Table):
    """Clips of videos, one after another. A video that cannot be read is one sample, and so is what
    is missing of one that is cut."""

    libraries = ("av",)
    selecting = frozenset(("labels", "label_dtype", "label_shape"))

    def __init__(
        self,
        videos: list[ListedVideo],
        ranges: Ranges,
        options: ClipOptions,
        storage: Storage,
        finish: Finish | None,
    ) -> None:
        self._options, self._finish = options, finish
        self._files = VideoFiles([video.path for video in videos], storage, options.upright)
        self.storage = self._files.storage
        self._decoders = Decoders(0)
        self._decode = in_host_memory(options.fill, options.colorspace)
        self._threads: op.WorkerPool | None = None
        """Those that decode what was begun."""
        self._on_gpu: GpuDecoders | None = None
        paths = list(dict.fromkeys(video.path for video in videos))
        before = file_identities(paths, self.storage, time.time_ns())
        self._as_opened = dict(zip(paths, before, strict=True))
        found = self._files.scan(paths)
        if options.drops:
            videos = _kept(videos, found)
        self._videos = videos
        self._problems: dict[int, str] = {}
        self._ranges = np.zeros((len(videos), 2), np.int64)
        rows = [self._clips(number, found[one.path], ranges) for number, one in enumerate(videos)]
        empty = np.zeros((0, 2), np.int64)
        self._rows = np.concatenate([empty, *rows])
        """Of each clip: the number of the video, and the first frame; -1 for what is missing."""

    def _clips(self, number: int, found: ScannedVideo, ranges: Ranges) -> op.Int64Array:
        options, video = self._options, self._videos[number]
        starts = np.zeros(0, np.int64)
        missing = bool(found.problem)
        if found.video is not None:
            begin, end = ranges.frames(video, found.video)
            self._ranges[number] = begin, end
            missing = missing and end == len(found.video)
            if end <= begin:
                warnings.warn(
                    f"the range from {video.start:g} to {video.end:g} of {video.path}, which has "
                    f"{len(found.video)} frames, is empty, and left out",
                    stacklevel=2,
                )
            elif options.uniform:
                starts = np.array([begin])
            else:
                tail = options.pad_mode != "none"
                starts = clip_starts(begin, end, options.span, options.step, tail)
        if missing:
            self._problems[number] = found.problem
            starts = np.append(starts, -1)
        return np.stack([np.full(len(starts), number), starts], 1)

    def __len__(self) -> int:
        return len(self._rows)

    def names(self, indices: op.Int64Array) -> list[str]:
        return [self._videos[number].path for number in self._rows[indices, 0].tolist()]

    def labels(self) -> op.Int64Array | None:
        if not self._options.labels:
            return None
        labels = [video.label for video in self._videos]
        return np.array([labels[number] for number in self._rows[:, 0].tolist()], np.int64)

    def classes(self) -> list[str] | None:
        return self._options.classes

    def without_reading(self, indices: op.Int64Array) -> dict[int, op.Batch]:
        if not self._options.labels:
            return {}
        videos = [self._videos[number] for number in self._rows[indices, 0].tolist()]
        labels = np.array([video.label for video in videos], np.int64)
        return {1: self._options.label_form.column(labels)}

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """That of the file, and the clip in it. A file that may be another one than when it was
        looked through has none, and neither has what a GPU decodes, which may have other bits."""
        if self.device is not CPU or (output == 1 and self._options.labels):
            return [None] * len(indices)
        names = self.names(indices)
        paths = list(dict.fromkeys(names))
        now = dict(zip(paths, file_identities(paths, self.storage, before), strict=True))
        found: list[str | None] = []
        for name, (number, first) in zip(names, self._rows[indices].tolist(), strict=True):
            one = now[name]
            begin, end = self._ranges[number].tolist()
            same = one is not None and one == self._as_opened[name] and first >= 0
            clip = f"{first} of {begin} to {end}, {output - self._options.labels}"
            found.append(f"{one}\0{clip}" if same else None)
        return found

    def beside(self) -> VideoTable:
        made = copy(self)
        made._files, made._decoders = self._files.beside(), Decoders(0)
        made._threads = made._on_gpu = None
        return made

    def _frames(self, number: int, first: int) -> op.Int64Array:
        """The frames of a clip, -1 for those that are filled."""
        begin, end = self._ranges[number].tolist()
        options = self._options
        if options.uniform:
            return uniform_frames(begin, end, options.length)
        asked = first + options.stride * np.arange(options.length, dtype=np.int64)
        # As in DALI, what is reflected may go back to before the range.
        return padded(asked, 0, end, options.pad_mode)

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        asked = self._asked(indices)
        return self._records(asked, self._fill(asked, pool), pool)

    def begin(self, indices: op.Int64Array, pool: op.WorkerPool) -> BegunRead | None:
        if self.device is not CPU or self.storage is not None or pool.num_threads < 2:
            return None
        own = self._threads
        if own is None or (own.num_threads, own.cpus) != (pool.num_threads, pool.cpus):
            self._threads = own = op.WorkerPool(pool.num_threads, dedicated=True, cpus=pool.cpus)
        asked = self._asked(indices)
        return _BegunClips(self, asked, BegunClips(asked.clips, self._decoders, own, self._decode))

    def _asked(self, indices: op.Int64Array) -> _ClipRequest:
        """What is to be decoded for these samples, and what there is without that."""
        options, rows, names = self._options, self._rows[indices].tolist(), self.names(indices)
        failures: Failures = {}
        numbers = np.full((len(rows), options.length), -1, np.int64)
        times = np.full(numbers.shape, -1.0)
        found: list[VideoIndex | None] = [None] * len(rows)
        for sample, (number, first) in enumerate(rows):
            try:
                found[sample] = index = self._index(number, first)
            except (ValueError, OSError) as error:
                failures[sample] = _failure(error, names[sample])
                continue
            numbers[sample] = frames = self._frames(number, first)
            shown = frames >= 0
            times[sample, shown] = index.seconds()[frames[shown]]
        columns = [*self.without_reading(indices).values()]
        if options.numbers == "scalar":
            columns.append(column(numbers[:, :1], (1,), op.int32))
        elif options.numbers == "sequence":
            columns.append(column(numbers, (options.length,), op.int32))
        if options.times:
            columns.append(column(times, (options.length,), op.float64))
        shapes = video_shapes([(options.length, index) for index in found])
        type = op.SampleType(op.uint8, 4, "FHWC", self.device.device_type)
        made = op.Batch.empty(op.BatchShape.of(shapes), type, None, self.device)
        clips = self._clips_of(names, numbers, found, made, failures)
        return _ClipRequest(made, clips, failures, columns, names)

    def _clips_of(
        self,
        names: list[str],
        numbers: op.Int64Array,
        found: list[VideoIndex | None],
        made: op.Batch,
        failures: Failures,
    ) -> dict[int, Clip]:
        """The clips to be decoded into a batch, by sample."""
        whole = list(dict.fromkeys(names[k] for k, index in enumerate(found) if index is not None))
        sources = self._files.sources(whole)
        clips, past = dict[int, Clip](), use_nontemporal(made.data)
        for sample, index in enumerate(found):
            if index is None:
                continue
            source = sources[names[sample]]
            if isinstance(source, OSError):
                failures[sample] = _failure(source, names[sample])
            else:
                clips[sample] = Clip(source, index, numbers[sample], made.array(sample), past)
        return clips

    def _records(
        self, asked: _ClipRequest, failed: Mapping[int, Exception], pool: op.WorkerPool
    ) -> Records:
        """What was decoded, as it is delivered. failed: what could not be, by sample."""
        made, _, failures, columns, _ = asked
        for sample, error in failed.items():
            failures[sample] = _failure(error, asked.names[sample])
        _clear(made, sorted(failures))
        whole = made if self._finish is None else _finished(made, failures, pool, self._finish)
        return Records((whole, *columns), failures)

    def _index(self, number: int, first: int) -> VideoIndex:
        """Raises ValueError, OSError."""
        if first < 0:
            raise ValueError(self._problems[number])
        return self._files.index(self._videos[number].path)

    def _fill(self, asked: _ClipRequest, pool: op.WorkerPool) -> Mapping[int, Exception]:
        """Decode clips into their batch, where that is; what went wrong, by sample."""
        if self.device is CPU:
            return decode_clips(asked.clips, self._decoders, pool, self._decode)
        if self._on_gpu is None:
            options = self._options
            self._on_gpu = GpuDecoders(gpu_of(self.device), options.fill, options.colorspace)
        return self._on_gpu.decode(asked.clips, asked.made, pool)

    def digest(self) -> dict[str, Any]:
        options = self._options
        rules = options.length, options.stride, options.uniform, options.pad_mode
        clips = blake2b(repr(rules).encode(), digest_size=16)
        clips.update(np.ascontiguousarray(self._rows, "<i8").tobytes())
        clips.update(np.ascontiguousarray(self._ranges, "<i8").tobytes())
        paths = [video.path for video in self._videos]
        names = digest_of(paths, [video.label for video in self._videos])
        return {"files": len(paths), "names": names, "clips": clips.hexdigest()}

    def prefetch(self, indices: op.Int64Array) -> None:
        names = list(dict.fromkeys(self.names(indices)))
        prefetch_files([name for name in names if not is_url(name)])
        if self.storage is not None:
            self.storage.expect([Want(name) for name in names if self._files.is_small(name)])


def _kept(videos: list[ListedVideo], found: Mapping[str, ScannedVideo]) -> list[ListedVideo]:
    """Videos without the files that are nothing like one."""
    for video in videos:
        if not found[video.path].media:
            warnings.warn(f"{video.path} is left out: {found[video.path].problem}", stacklevel=2)
    return [video for video in videos if found[video.path].media]


def _failure(error: Exception, name: str) -> op.SampleDataError:
    """Raises OperatorRuntimeError for what is no fault of the file of that name."""
    if isinstance(error, OSError):
        return unreadable(error, name)
    return op.SampleDataError(str(error))


def _finished(made: op.Batch, failures: Failures, pool: op.WorkerPool, finish: Finish) -> op.Batch:
    """The clips as they are delivered; those that failed are empty."""
    good = [sample for sample in range(len(made)) if sample not in failures]
    if len(good) == len(made):
        return finish(made, pool)
    done = finish(made.select(good), pool)
    shapes = np.zeros((len(made), 4), np.int64)
    shapes[good] = done.batch_shape.shapes
    result = op.Batch.empty(op.BatchShape.of(shapes), done.type, None, made.device)
    if made.device is not CPU:
        arrays: list[Any] = [done.array(place) for place in range(len(good))]
        starts = result.batch_shape.offsets[good].tolist()
        data: Any = result.data
        gpu_of(made.device).place(arrays, starts, data)
        return result
    for place, sample in enumerate(good):
        result.array(sample)[...] = done.array(place)
    return result


def _clear(made: op.Batch, samples: list[int]) -> None:
    """Let nothing be left in samples that were not made."""
    if made.device is not CPU:
        places = made.batch_shape.offsets[samples], made.batch_shape.volumes[samples]
        gpu_of(made.device).run([fill_launch(made.data, *places, np.uint8(0))])
        return
    for sample in samples:
        made.array(sample)[...] = 0
