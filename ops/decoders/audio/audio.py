"""`decoders.audio`: from the bytes of audio files to samples."""

from __future__ import annotations

import io
import math
import wave
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Array
from gradiva.ops.audio.resampling import lobes_of, resampled_length, window_table

from .audio_file import audio_info
from .audio_info import AudioInfo, check_length
from .decode_audio import Wanted, decode_audio

_DTYPES: Final = (op.float32, op.int16, op.int32)
_UNREADABLE: Final = AudioInfo("unreadable", 1, 1, 1, lambda _begin, _count, out: out.fill(0))


@op.argument_group(on_error="raise", fill_value=0.0)
class Replaced(TypedDict, total=False):
    """
    Args:
        on_error, fill_value: the error policy for a file that cannot be decoded; see
            `docs/errors.md`. "raise" (default) fails the batch. "skip" takes the sample out of the
            batch. "replace" puts audio in its place whose values and rate are all fill_value (0),
            of the shape that the header tells, or of one sample of one channel.
    """

    on_error: op.OnError
    fill_value: float


class Decoded(Replaced, op.Common, total=False):
    """What `decoders.audio` takes beside its own arguments."""


@op.operator("decoders.audio", schema="decoders__Audio", formerly=("audio_decoder",))
@op.uses_arguments(Replaced)
def audio(
    input: op.SampleType,
    /,
    *,
    downmix: bool = False,
    dtype: op.DTypeLike = op.float32,
    sample_rate: op.FloatArg = 0.0,
    quality: float = 50.0,
    offset: op.FloatArg = 0.0,
    duration: op.FloatArg | None = None,
    frames: op.IntArg | None = None,
    **options: op.Unpack[Decoded],
) -> tuple[op.SampleType, op.SampleType]:
    """Decode audio files: WAV, and with the package soundfile FLAC, Ogg, MP3, AIFF and others.

    Ogg may hold Vorbis or Opus. `pip install "gradiva[audio]"` installs soundfile. WAV files of
    plain integers or floats need nothing. A WAV file that is cut short has the samples that are
    there. AAC, M4A, WMA, the audio of video files, and what else libsndfile does not know, need
    PyAV: `pip install "gradiva[video]"`. What a header does not say of the length, its file is read
    for to the end (docs/audio.md).

    Args:
        input: the bytes of one file per sample: uint8, 1-D. Formats may be mixed in a batch.
        downmix: make the mean of all channels, in float32.
        dtype: float32 (default), from -1 to 1; int16, int32: of files of integers the upper bits,
            others times the largest value, rounded and saturated.
        sample_rate: resample to this rate, in Hz, after mixing; 0 keeps that of the file. There is
            no low-pass filter, as in `audio_resample`: frequencies above half of a lower rate are
            aliased, so filter first, or use recordings of this rate. May differ per sample.
        quality: the quality of resampling, from 0 to 100.
        offset, duration: decode a part only: where it begins and how long it is at most, in seconds
            of the file; rounded to samples of the file. May differ per sample.
        frames: in place of `duration`, in samples of the file. May differ per sample.

    Returns:
        The audio, (n, channels), or (n,) with `downmix`; and the sampling rates in Hz, float32
        scalars.

    Raises:
        OperatorTypeError: for other dtypes.
        OperatorValueError: for arguments out of range; an `offset` behind the end.
        OperatorRuntimeError: with the sample and its file, for data that is not audio, is damaged
            or cut short, or is longer than 2**30 values.

    Example:
        data = np.fromfile("speech.wav", np.uint8)
        audio, rate = gradiva.decoders.audio(data, downmix=True)
        audio.shape, rate.item()  # ((16000,), 16000.0)
    """
    op.require_dtype(input, (op.uint8,), "encoded data")
    op.require_ndim(input, (1,), "encoded data")
    if dtype not in _DTYPES:
        raise op.wrong_type("dtype", ", ".join(d.name for d in _DTYPES), dtype)
    if not 0 <= quality <= 100:
        raise op.wrong_value("quality", "a number from 0 to 100", quality)
    if duration is not None and frames is not None:
        raise op.OperatorValueError("`duration` and `frames` exclude each other")
    chosen: op.DType = dtype  # type: ignore[assignment]  # one of the above
    sound = op.SampleType(chosen, 1 if downmix else 2, "", input.device)
    return sound, op.SampleType(op.float32, 0, "", input.device)


@dataclass(frozen=True)
class _AudioPlan(op.Plan):
    """Of each sample: the header, the first frame and how many, and the rate of the output."""

    infos: list[AudioInfo]
    parts: list[tuple[int, int]]
    rates: list[float]


audio.not_serializable("offset", "duration", "frames", "fill_value")


@audio.shapes
def _shapes(call: op.Call) -> _AudioPlan:
    _check(call)
    infos, parts, rates, lengths = [], [], [], []
    for sample, data in enumerate(call.inputs[0].arrays()):
        try:
            info = audio_info(data)
            begin, count = _part(call, info, sample)
            rate = float(call["sample_rate"][sample]) or float(info.rate)
            length = count if rate == info.rate else resampled_length(count, info.rate, rate)
            check_length(max(count, length) * info.channels)
        except ValueError as error:
            if isinstance(error, op.GradivaError):
                raise error.complete(sample=sample) from None
            failure = op.SampleDataError(str(error), sample=sample)
            if not call.goes_on_after(failure):
                raise failure from None
            info, begin, count, rate, length = _UNREADABLE, 0, 1, 1.0, 1
        infos.append(info)
        parts.append((begin, count))
        rates.append(rate)
        lengths.append(length)
    sizes = np.array(lengths, np.int64)
    if call["downmix"]:
        shapes = sizes.reshape(-1, 1)
    else:
        channels = np.array([info.channels for info in infos], np.int64)
        shapes = np.stack([sizes, channels], axis=1)
    return _AudioPlan((shapes, op.BatchShape.equal(call.size, ())), infos, parts, rates)


def _check(call: op.Call) -> None:
    for name, what in (("sample_rate", "rate"), ("offset", "time"), ("duration", "time")):
        values = call[name]
        if values is not None:
            bad = ~((values >= 0) & np.isfinite(values))
            op.refuse_samples(bad, name, f"a {what} from 0 on", values)
    if call["frames"] is not None:
        op.refuse_samples(call["frames"] < 0, "frames", "a number from 0 on", call["frames"])


def _part(call: op.Call, info: AudioInfo, sample: int) -> tuple[int, int]:
    """The first frame that is wanted, and how many."""
    offset = float(call["offset"][sample])
    begin = math.floor(offset * info.rate + 0.5)
    if begin > info.frames:
        length = f"at most {info.frames / info.rate:g} s, as long as the sound is"
        raise op.wrong_value("offset", length, f"{offset:g}")
    count = info.frames - begin
    if call["duration"] is not None:
        count = min(count, math.floor(float(call["duration"][sample]) * info.rate + 0.5))
    if call["frames"] is not None:
        count = min(count, int(call["frames"][sample]))
    return begin, count


@audio.cpu
def _cpu(call: op.Call, plan: _AudioPlan) -> None:
    files, decoded = call.inputs[0], call.outputs[0]
    lobes = lobes_of(call["quality"])
    window_table(lobes)  # made once, before the threads start
    call.outputs[1].as_array()[...] = plan.rates

    def decode(sample: int) -> None:
        wanted = Wanted(*plan.parts[sample], plan.rates[sample], lobes, call["downmix"])
        out = decoded.array(sample).reshape(-1)
        try:
            decode_audio(plan.infos[sample], wanted, out)
        except ValueError as error:
            raise op.SampleDataError(str(error), sample=sample) from None

    call.each_sample(decode, files.batch_shape.volumes.tolist())


def wav_file(samples: Array, rate: int = 16000) -> Array:
    """Samples (n, channels), integers of 16 or 32 bits or bytes, as a WAV file, for examples."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(samples.dtype.itemsize)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return np.frombuffer(stream.getvalue(), np.uint8)


@audio.cases
def _cases() -> list[op.Case]:
    stereo = op.samples((500, 2), (33, 2), dtype=op.int16, layout="").arrays()
    mono = op.samples((400, 1), (77, 1), dtype=op.int16, layout="", seed=1).arrays()
    bytes_ = op.samples((90, 3), layout="").arrays()
    wide = op.samples((90, 1), dtype=op.int32, layout="", low=-2e9, high=2e9).arrays()
    files = op.batch([wav_file(one, 8000 + 100 * k) for k, one in enumerate([*stereo, *mono])])
    others = op.batch([wav_file(one) for one in (*bytes_, *wide)])
    samples = [*stereo, *mono]
    floats = [one.astype(np.float32) / np.float32(32768) for one in samples]
    half = np.float32(0.5)
    mixed = [one[:, 0] * half + one[:, 1] * half for one in floats[:2]]
    mixed += [one[:, 0] for one in floats[2:]]
    cut = op.batch([files.at(0)[: 44 + 4 * 7 + 1]])
    text = op.batch([np.frombuffer(b"RIFF....WAVEfmt ", np.uint8)])
    return [
        op.case("default", files).equals(floats),
        op.case("integers", files, dtype=op.int16).equals(samples),
        op.case("wide", others, dtype=op.int32),
        op.case("bytes to integers", others, dtype=op.int16),
        op.case("mixed down", files, downmix=True).equals(mixed),
        op.case("mixed integers", files, downmix=True, dtype=op.int16),
        op.case("part", files, offset=0.002, frames=[3, 2, 1, 0])
        .equals(
            [
                one[at : at + n]
                for one, at, n in zip(floats, (16, 16, 16, 17), (3, 2, 1, 0), strict=True)
            ]
        )
        .no_oracle(),
        op.case("until the end", files, offset=[0, 0.004, 0.01, 0.0], duration=3.0).no_oracle(),
        op.case("resampled", files, sample_rate=11025),
        op.case("resampled part", files, sample_rate=[0, 9000, 8100, 4000], frames=50).no_oracle(),
        op.case("resampled integers", files, sample_rate=9999, dtype=op.int16, downmix=True),
        op.case("cut short", cut).equals([floats[0][:7]]),
        op.case("no sample", op.batch([wav_file(stereo[0][:0])])).equals([floats[0][:0]]),
        op.case("empty", op.batch(np.empty((0, 1), np.uint8))).equals([]),
        op.case("header only", text).runtime_error("sample 0"),
        op.case("no bytes", op.batch([np.empty(0, np.uint8)])).runtime_error("empty file"),
        op.case("behind the end", files, offset=1).value_error("`offset`"),
        op.case("both", files, duration=1, frames=1).value_error("exclude"),
        op.case("rate", files, sample_rate=-1).value_error("`sample_rate`"),
        op.case("quality", files, quality=101).value_error("`quality`"),
        op.case("dtype", files, dtype=op.uint8).type_error("`dtype`"),
        op.case("not encoded", op.samples((5, 5), layout="")).type_error("axes"),
    ]
