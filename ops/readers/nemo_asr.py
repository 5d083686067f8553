"""`readers.nemo_asr`: the audio of a manifest, with their texts, as NVIDIA NeMo has them."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.audio.resampling import lobes_of, resampled_length, window_table
from gradiva.ops.decoders.audio.audio_file import audio_info
from gradiva.ops.decoders.audio.audio_info import AudioInfo, check_length
from gradiva.ops.decoders.audio.decode_audio import Wanted, decode_audio
from gradiva.ops.readers.core.reader import reader_class
from gradiva.ops.readers.core.remote_files import read_any_files
from gradiva.ops.readers.core.source import source_operator
from gradiva.ops.readers.core.table import Failures, Records, column, ragged
from gradiva.ops.storage.folders import read_text
from gradiva.ops.storage.storage import Storage
from gradiva.ops.storage.urls import local_path

from .listing import FilesTable, path_in_list
from .reader_arguments import ReaderArguments, ReaderOptions, storage_of
from .table_source import opens_table

__all__ = ["NemoAsr", "nemo_asr"]

_DTYPES: Final = (op.float32, op.int16, op.int32)
_LONGEST: Final = 1e12
"""Seconds that a manifest may speak of: thousands of years."""


@source_operator(
    "readers.nemo_asr",
    schema="readers__NemoAsr",
    formerly=("nemo_asr_reader",),
    old_arguments={"normalize_text": None},
)
@op.uses_arguments(ReaderArguments)
def nemo_asr(
    *,
    manifest_filepaths: op.Paths,
    downmix: bool = True,
    dtype: op.DTypeLike = op.float32,
    sample_rate: float = -1.0,
    quality: float = 50.0,
    min_duration: float = 0.0,
    max_duration: float = 0.0,
    read_sample_rate: bool = True,
    read_text: bool = True,
    read_idxs: bool = False,
    **options: op.Unpack[ReaderOptions],
) -> tuple[op.SampleType, ...]:
    """Read and decode the audio that the manifests of NeMo list, with its texts.

    A manifest has a JSON object in each line: `audio_filepath`; `text`; `duration` and `offset` of
    a part of the file, in seconds. Lines without a path are left out, with a warning. A path that
    is not absolute is one from the working directory or, if nothing is there, from the folder of
    the manifest; in a manifest that a URL names, always from there. See `decoders.audio` for
    formats.

    Args:
        manifest_filepaths: the manifests, one after another.
        downmix: make the mean of all channels.
        dtype: float32 (default), int16 or int32.
        sample_rate: resample to this rate, in Hz; 0 and less keep that of each file.
        quality: the quality of resampling, from 0 to 100.
        min_duration, max_duration: leave out what the manifest says to be shorter or longer, in
            seconds; 0 for no limit. What has no duration there is shorter than any limit.
        read_sample_rate, read_text, read_idxs: which outputs there are beside the audio.

    Returns:
        The audio, (n,), or (n, channels) without `downmix`; the sampling rate of each file in Hz,
        float32 scalars, also where audio is resampled; texts in UTF-8, uint8, 1-D; the numbers of
        the entries that were not left out, int64 of shape (1,).

    Raises:
        OperatorValueError: for a manifest that cannot be read or has no entry, with its line where
            one is no JSON; for arguments out of range.
        OperatorRuntimeError: with the file, for one that cannot be read or decoded, or ends before
            its `offset`.

    Example:
        reader = gradiva.readers.NemoAsr(manifest_filepaths="manifest.json", read_text=True)
        for audio, rates, texts in reader.next_epoch(batch_size=4):
            print(audio.shape, bytes(np.asarray(texts.tensors[0])))  # [(16000,)] b'hello'
    """
    chosen: op.DType = dtype  # type: ignore[assignment]  # checked when it is opened
    made = [op.SampleType(chosen, 1 if downmix else 2, "", "cpu")]
    if read_sample_rate:
        made.append(op.SampleType(op.float32, 0, "", "cpu"))
    if read_text:
        made.append(op.SampleType(op.uint8, 1, "", "cpu"))
    if read_idxs:
        made.append(op.SampleType(op.int64, 1, "", "cpu"))
    return tuple(made)


class _ManifestEntry(NamedTuple):
    """path: as it is opened; offset, duration: in seconds, NaN for none; text: in UTF-8."""

    path: str
    offset: float
    duration: float
    text: bytes


def _number(entry: dict[str, Any], name: str, line: str, file: str) -> float:
    value = entry.get(name)
    if value is None:
        return math.nan
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not abs(value) <= _LONGEST:  # nor NaN
        raise op.OperatorValueError(
            argument="manifest_filepaths", expected=f"a number as {name!r}", got=line, file=file
        )
    return float(value)


def _lines(manifest: str, storage: Storage) -> list[str]:
    """The lines of a file, which may hold other separators inside of texts."""
    try:
        return read_text(manifest, storage).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise op.OperatorValueError(
            argument="manifest_filepaths",
            expected="a text file that can be read",
            got=str(error),
            file=manifest,
        ) from error


def _entries(manifest: str, storage: Storage) -> list[_ManifestEntry]:
    """Those of one manifest. Raises OperatorValueError."""
    found, without = [], 0
    manifest = local_path(manifest)
    for number, line in enumerate(_lines(manifest, storage), 1):
        if not line.strip():
            continue
        shown = f"line {number}: {line[:80]!r}"
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise op.OperatorValueError(
                argument="manifest_filepaths",
                expected="a JSON object in each line",
                got=shown,
                file=manifest,
            ) from error
        path = entry.get("audio_filepath") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not path:
            without += 1
            continue
        text = entry.get("text")
        times = [_number(entry, name, shown, manifest) for name in ("offset", "duration")]
        words = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else b""
        found.append(_ManifestEntry(path_in_list(path, manifest), times[0], times[1], words))
    if without:
        warnings.warn(
            f"readers.nemo_asr: {without} lines of {manifest} have no audio_filepath, and are left "
            "out",
            stacklevel=2,
        )
    return found


class AudioTable(FilesTable):
    """The entries of manifests."""

    libraries = "soundfile", "av"
    selecting = frozenset(("manifest_filepaths", "min_duration", "max_duration"))

    def __init__(
        self, entries: list[_ManifestEntry], given: dict[str, Any], storage: Storage
    ) -> None:
        super().__init__([entry.path for entry in entries], storage)
        self._entries = entries
        self._dtype: op.DType = given["dtype"]
        self._downmix, self._rate = given["downmix"], given["sample_rate"]
        self._lobes = lobes_of(given["quality"])
        wanted = ("read_sample_rate", "read_text", "read_idxs")
        self._shown = [bool(given[name]) for name in wanted]

    def read(self, indices: op.Int64Array, pool: op.WorkerPool) -> Records:
        failures: Failures = {}
        raw = read_any_files(self.names(indices), None, pool, failures, storage=self.storage)
        files = raw.batch_shape.views(raw.data)
        parts: list[tuple[AudioInfo, Wanted] | None] = []
        ndim = 1 if self._downmix else 2
        shapes = np.zeros((len(files), ndim), np.int64)
        rates = np.zeros(len(files), np.float32)
        for sample, (index, data) in enumerate(zip(indices.tolist(), files, strict=True)):
            part = None
            if sample not in failures:
                try:
                    part = self._part(data, self._entries[index])
                    info, wanted = part
                    length = wanted.frames
                    if wanted.rate != info.rate:
                        length = resampled_length(length, info.rate, wanted.rate)
                    check_length(max(length, wanted.frames) * info.channels)
                    shapes[sample] = (length, info.channels)[:ndim]
                    rates[sample] = info.rate
                except ValueError as error:
                    part, failures[sample] = None, op.SampleDataError(str(error))
            parts.append(part)
        made = op.Batch.empty(op.BatchShape.of(shapes), op.SampleType(self._dtype, ndim, "", "cpu"))
        targets = made.batch_shape.views(made.data)
        window_table(self._lobes)  # made once, before the threads start

        def decode(begin: int, end: int) -> None:
            for sample in range(begin, end):
                part = parts[sample]
                if part is None:
                    continue
                try:
                    decode_audio(*part, targets[sample].reshape(-1))
                except ValueError as error:
                    failures[sample] = op.SampleDataError(str(error))

        pool.run(decode, [(sample, sample + 1) for sample in range(len(files))])
        columns = {0: made, **self.without_reading(indices)}
        if self._shown[0]:
            columns[1] = column(rates, (), op.float32)
        return Records(tuple(columns[output] for output in sorted(columns)), failures)

    def without_reading(self, indices: op.Int64Array) -> dict[int, op.Batch]:
        """Texts and numbers."""
        _, text, number = self._shown
        first, found = 1 + self._shown[0], {}
        if text:
            entries = [self._entries[index] for index in indices.tolist()]
            texts = [np.frombuffer(entry.text, np.uint8) for entry in entries]
            found[first] = ragged(texts, op.uint8, 1)
        if number:
            found[first + text] = column(indices.reshape(-1, 1), (1,), op.int64)
        return found

    def identities(
        self, indices: op.Int64Array, output: int, before: int | None = None
    ) -> Sequence[str | None]:
        """Of audio and rates: that of the file, and the part of it that is read."""
        if output > self._shown[0]:
            return [None] * len(indices)
        entries = [self._entries[index] for index in indices.tolist()]
        files = self.identities_of_files(indices, before)
        return [
            None if file is None else f"{file}\0{entry.offset} {entry.duration}"
            for file, entry in zip(files, entries, strict=True)
        ]

    def _part(self, data: Any, entry: _ManifestEntry) -> tuple[AudioInfo, Wanted]:
        """What the file is, and what is wanted of it. Raises ValueError."""
        info = audio_info(data)
        offset = 0.0 if math.isnan(entry.offset) else max(entry.offset, 0.0)
        begin = int(offset * info.rate)
        if begin > info.frames:
            seconds = info.frames / info.rate
            raise ValueError(f"the sound lasts {seconds:g} s, and its offset is {offset:g} s")
        count = info.frames - begin
        if not math.isnan(entry.duration):
            count = min(count, int(max(entry.duration, 0.0) * info.rate))
        rate = self._rate if self._rate > 0 else float(info.rate)
        return info, Wanted(begin, count, rate, self._lobes, self._downmix)

    def sizes(self) -> None:
        """Signals have durations: bytes of a file say little of them, and nothing of its parts."""

    def durations(self) -> np.ndarray[Any, np.dtype[np.float64]] | None:
        """As the manifests have them; None where one has none."""
        found = np.array([entry.duration for entry in self._entries])
        return None if np.isnan(found).any() else np.maximum(found, 0.0)

    def digest(self) -> dict[str, Any]:
        parts = blake2b(digest_size=16)
        for entry in self._entries:
            parts.update(f"{entry.offset} {entry.duration} {len(entry.text)} ".encode())
            parts.update(entry.text)
        return {**super().digest(), "parts": parts.hexdigest()}


@opens_table(nemo_asr)
def _open(given: dict[str, Any]) -> AudioTable:
    if given["dtype"] not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(d.name for d in _DTYPES), given["dtype"])
    if not 0 <= given["quality"] <= 100:
        raise op.wrong_value("quality", "a number from 0 to 100", given["quality"])
    if not math.isfinite(given["sample_rate"]):
        raise op.wrong_value("sample_rate", "a rate", given["sample_rate"])
    manifests, storage = given["manifest_filepaths"], storage_of(given)
    entries = [entry for manifest in manifests for entry in _entries(manifest, storage)]
    low, high = given["min_duration"], given["max_duration"]

    def fits(entry: _ManifestEntry) -> bool:
        duration = -1.0 if math.isnan(entry.duration) else entry.duration
        return not (0 < high < duration or (low > 0 and duration < low))

    kept = [entry for entry in entries if fits(entry)]
    if not kept:
        expected = "manifests with an entry"
        if entries:
            expected += " between `min_duration` and `max_duration`"
        got = f"{len(entries)} entries" if entries else "none"
        raise op.OperatorValueError(
            argument="manifest_filepaths", expected=expected, got=got, file=", ".join(manifests[:3])
        )
    return AudioTable(kept, given, storage)


NemoAsr = reader_class("NemoAsr", nemo_asr)
