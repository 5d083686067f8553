"""`peek_audio`: how long an audio file is."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .audio import wav_file
from .audio_file import audio_info


@op.operator("peek_audio")
def peek_audio(
    input: op.SampleType, /, *, on_error: op.OnError = "raise", **common: op.Unpack[op.Common]
) -> tuple[op.SampleType, op.SampleType, op.SampleType]:
    """Read the length, the channels and the sampling rate of audio files from their headers.

    They are those of what `decoders.audio` returns, for example for batches of similar lengths.
    Headers are read, and the frames of MP3 counted. A file whose header does not know its length
    (FLAC from a pipe, and whatever FFmpeg reads) is decoded (docs/audio.md).

    Args:
        input: the bytes of one file per sample: uint8, 1-D (see `decoders.audio` for formats).
        on_error: "skip" takes a sample without a readable header out of the batch, "replace" makes
            its numbers zeros; "raise" (default) fails the batch. See `docs/errors.md`.

    Returns:
        Scalars: how many samples each channel has, int64; how many channels there are, int32; the
        sampling rate in Hz, float32.

    Raises:
        OperatorRuntimeError: with the sample and its file, for data that is not audio.

    Example:
        length, channels, rate = gradiva.peek_audio(np.fromfile("speech.wav", np.uint8))
        length.item() / rate.item()  # 1.0
    """
    op.require_dtype(input, (op.uint8,), "encoded data")
    op.require_ndim(input, (1,), "encoded data")
    made = (op.SampleType(dtype, 0, "", input.device) for dtype in (op.int64, op.int32, op.float32))
    return next(made), next(made), next(made)


peek_audio.shapes(lambda call: (op.BatchShape.equal(call.size, ()),) * 3)


@peek_audio.cpu
def _cpu(call: op.Call) -> None:
    lengths, channels, rates = (output.as_array() for output in call.outputs)
    for sample, data in enumerate(call.inputs[0].arrays()):
        lengths[sample] = channels[sample] = rates[sample] = 0
        try:
            info = audio_info(data)
        except ValueError as error:
            failure = op.SampleDataError(str(error), sample=sample)
            if not call.goes_on_after(failure):
                raise failure from None
            continue
        lengths[sample], channels[sample], rates[sample] = info.frames, info.channels, info.rate


@peek_audio.cases
def _cases() -> list[op.Case]:
    stereo = op.samples((500, 2), (33, 2), dtype=op.int16, layout="").arrays()
    files = op.batch([wav_file(one, 8000) for one in stereo])
    lengths = [np.array(500), np.array(33)]
    return [
        op.case("default", files).equals(lengths).no_oracle(),
        op.case("empty", op.batch(np.empty((0, 1), np.uint8))).equals([]).no_oracle(),
        op.case("no sound", op.batch([np.zeros(20, np.uint8)])).runtime_error("sample 0"),
        op.case("no bytes", op.batch([np.empty(0, np.uint8)])).runtime_error("empty file"),
        op.case("not encoded", op.samples((5, 5), layout="")).type_error("axes"),
    ]
