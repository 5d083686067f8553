"""`spectrogram`: the power of a signal by frequency and time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import NoGpuKernelError
from gradiva.eager.operators.fusion_roles import SpectralStep
from gradiva.eager.types.arrays import F32Table, F32Vector, Float32Array

from .fourier import fourier_plan
from .spectra import LONGEST_FFT, check_fft, check_floats, check_power, long_spectra, one_axis
from .spectral_pass import Framing, cut, run_pass

_LAYOUTS = ("ft", "tf")


@op.operator("spectrogram", schema="Spectrogram")
def spectrogram(
    input: op.SampleType,
    /,
    *,
    nfft: int | None = None,
    window_length: int = 512,
    window_step: int = 256,
    window_fn: op.Floats | None = None,
    power: int = 2,
    center_windows: bool = True,
    reflect_padding: bool = True,
    layout: op.Layout = "ft",
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Cut audio into overlapping frames, and compute the power spectrum of each.

    A frame x is multiplied by a window w, put in the middle of `nfft` values, zeros elsewhere, and
    becomes |FFT(w * x)| ** power. The window is Hann's, taken in the middle of its samples: w[t] =
    0.5 * (1 - cos(2 * pi * (t + 0.5) / window_length)).

    Args:
        input: float32, one channel: (n,), (n, 1) or (1, n).
        nfft: length of the transform, from `window_length` on, which is the default.
        window_length, window_step: length of a frame, and from one frame to the next, in samples.
        window_fn: another window, of `window_length` values.
        power: 2 for the power, 1 for the magnitude.
        center_windows: frame k is centered at k * window_step, and there are n // window_step + 1
            of them. Otherwise it begins there, and lies inside.
        reflect_padding: what lies outside is mirrored, the outermost sample not repeated; otherwise
            it is zero.
        layout: "ft", a row per frequency, or "tf", a row per frame.

    Returns:
        Float32 (nfft // 2 + 1, frames) with layout "ft", or the other way around.

    Raises:
        OperatorTypeError: for other dtypes and for numbers, such as a sampling rate.
        OperatorValueError: for several channels, for audio without a sample or, if windows are not
            centered, shorter than one, and for arguments out of range.

    Example:
        audio, rate = gradiva.decoders.audio(np.fromfile("speech.wav", np.uint8), downmix=True)
        gradiva.spectrogram(audio, nfft=512, window_length=400, window_step=160).shape
        # (257, 101)
    """
    if input.ndim == 0:
        raise op.OperatorTypeError(
            "the input is a number: is this the second output of decoders.audio, the sampling "
            "rate? `audio, rate = decoders.audio(...)`",
            expected="audio of one channel",
            got="0-D samples",
        )
    check_floats(input)
    for name, value in (("window_length", window_length), ("window_step", window_step)):
        if value < 1:
            raise op.wrong_value(name, "an integer from 1 on", value)
    if nfft is not None and nfft < window_length:
        raise op.wrong_value(
            "nfft",
            f"an integer from {window_length} (`window_length`, 512 by default) to {LONGEST_FFT}",
            nfft,
        )
    check_fft(window_length if nfft is None else nfft)
    check_power(power)
    if layout not in _LAYOUTS:
        raise op.wrong_value("layout", "'ft' or 'tf'", repr(layout))
    if window_fn is not None:
        count = np.size(np.asarray(window_fn))
        if count != window_length:
            raise op.wrong_value("window_fn", f"{window_length} values (`window_length`)", count)
    return op.SampleType(op.float32, 2, layout, input.device)


@lru_cache(maxsize=64)
def _window(length: int, given: tuple[float, ...] | None) -> Float32Array:
    if given is not None:
        return np.asarray(given, np.float32)
    places = (np.arange(length) + 0.5) / length
    return np.asarray(0.5 * (1.0 - np.cos(2.0 * np.pi * places)), np.float32)


@dataclass(frozen=True)
class _SpectrogramPlan(op.Plan):
    """nfft; lengths, frames: (N,), of the audio, and how many frames each has."""

    nfft: int
    lengths: op.Int64Array
    frames: op.Int64Array


@spectrogram.shapes
def _shapes(call: op.Call) -> _SpectrogramPlan:
    lengths = one_axis(call.inputs[0].batch_shape.shapes)
    window, step = call["window_length"], call["window_step"]
    nfft = window if call["nfft"] is None else call["nfft"]
    op.refuse_samples(lengths == 0, "", "one sample or more", lengths, "the sound is empty")
    if call["center_windows"]:
        frames = lengths // step + 1
    else:
        expected = f"{window} samples (`window_length`) or more"
        op.refuse_samples(lengths < window, "", expected, lengths, "the sound is too short")
        frames = (lengths - window) // step + 1
    bins = np.full(call.size, nfft // 2 + 1, np.int64)
    columns = [bins, frames] if call["layout"] == "ft" else [frames, bins]
    return _SpectrogramPlan(np.stack(columns, axis=1), nfft, lengths, frames)


def _framing(call: op.Call) -> Framing | None:
    """What the pass reads of a call; None for transforms that it does not make."""
    plan = call.plan
    assert isinstance(plan, _SpectrogramPlan)
    fourier = fourier_plan(plan.nfft)
    if fourier is None:
        return None
    window = _window(call["window_length"], call["window_fn"])
    start = -(window.size // 2) if call["center_windows"] else 0
    step = min(call["window_step"], int(plan.lengths.max(initial=0)) + window.size)
    reflect, rows = call["reflect_padding"], call["layout"] == "ft"
    return Framing(start, step, reflect, window, fourier, call["power"], rows, plan.frames)


def _run(
    call: op.Call, source: Any, settings: tuple[Any, Framing, Any, Any], target: op.Batch
) -> None:
    emphasis, framing, bands, decibels = settings
    run_pass(call, source, framing, target, emphasis, bands, decibels)


spectrogram.fusion_role = SpectralStep(2, _framing, _run)


@op.jit
def _fill_frames(
    sound: F32Vector,
    first: int,
    framing: tuple[int, int, bool, F32Vector],
    size: int,
    nfft: int,
    piece: F32Vector,
    block: F32Table,
) -> None:
    """Frames of a signal, from number `first` on, times the window, in the middle of zeros.

    framing: where the first frame begins and the step between frames, in samples of audio, whether
    values outside are mirrored, and the window, (window_length,); size: how many frames; piece:
    memory for one window; block: (size or more, nfft).
    """
    start, step, reflect, window = framing
    margin = (nfft - window.size) // 2
    block[:] = np.float32(0)
    for k in range(size):
        begin = (first + k) * step + start
        cut(sound, begin, window.size, reflect, np.float32(0), 0, 0, piece)
        for t in range(window.size):
            block[k, margin + t] = window[t] * piece[t]


@spectrogram.cpu
def _cpu(call: op.Call, plan: _SpectrogramPlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    framing = _framing(call)
    if framing is not None:
        place = source.data, source.batch_shape.offsets, plan.lengths
        run_pass(call, place, framing, target)
        return
    window = _window(call["window_length"], call["window_fn"])
    start = -(window.size // 2) if call["center_windows"] else 0
    numbers = start, call["window_step"], call["reflect_padding"], window
    frames = plan.frames.tolist()

    def compute(sample: int) -> None:
        sound, count = source.array(sample).reshape(-1), frames[sample]
        piece = np.empty(window.size, np.float32)

        def fill(first: int, block: Float32Array) -> None:
            _fill_frames(sound, first, numbers, len(block), plan.nfft, piece, block)

        inner = count if call["layout"] == "ft" else 1
        out = target.array(sample).reshape(-1)
        long_spectra(fill, count, plan.nfft, call["power"], inner, out)

    call.each_sample(compute, frames)


_KERNEL = op.CudaKernel("spectrogram", (Path(__file__).with_suffix(".cuh"),), registers=96)
_SHARED = 8192
"""float32 numbers of shared memory; the kernel knows it, too."""


@spectrogram.gpu
def _gpu(call: op.Call, plan: _SpectrogramPlan) -> op.Launch:
    data, before, result, after = call.slabs
    framing = _framing(call)
    length = plan.nfft // 2 if plan.nfft % 2 == 0 else plan.nfft
    if framing is None or 4 * length > _SHARED:
        raise NoGpuKernelError(
            f"there is no GPU kernel for transforms of {plan.nfft} values: lengths up to 4096 "
            "(odd ones up to 2047) without prime factors above 31"
        )
    fourier, side = framing.fourier, _SHARED // (4 * length)
    op.refuse_large(plan.lengths)
    blocks = op.blocks_of(plan.frames, side)
    samples = op.struct_rows([before, after], [plan.lengths, plan.frames])
    numbers = (length, fourier.factors.size, side, framing.start, framing.step)
    transform = np.array(
        [*numbers, framing.window.size, plan.nfft, framing.reflect, framing.power, framing.rows],
        np.int64,
    )
    nothing = np.zeros(1)
    tables = (
        np.append(fourier.factors, nothing).astype(np.int64),
        np.append(fourier.twiddles, nothing).astype(np.float32),
        fourier.last,
        framing.window,
    )
    places = data, op.OutputArg(result), samples, blocks.table, transform
    return op.Launch(_KERNEL.unit({}), blocks.total, (*places, *tables))


def _expected(
    sound: Any, length: int = 512, step: int = 256, nfft: int = 512, mode: str = "reflect"
) -> Any:
    """The power of centered frames, in float64."""
    padded = np.pad(sound.ravel().astype(np.float64), length, mode=mode)  # type: ignore[call-overload]
    window = 0.5 * (1 - np.cos(2 * np.pi * (np.arange(length) + 0.5) / length))
    begins = length - length // 2 + step * np.arange(sound.size // step + 1)
    frames = np.stack([padded[at : at + length] * window for at in begins])
    margin = (nfft - length) // 2
    frames = np.pad(frames, ((0, 0), (margin, nfft - length - margin)))
    return (np.abs(np.fft.rfft(frames, axis=1)) ** 2).T.astype(np.float32)


@spectrogram.cases
def _cases() -> list[op.Case]:
    audio = op.samples((2000,), (1300,), (777,), dtype=op.float32, layout="", low=-1.0)
    columns = op.samples((900, 1), (70, 1), dtype=op.float32, layout="", low=-1.0)
    tiny = op.samples((1,), (2,), (5,), dtype=op.float32, layout="")
    short = {"window_length": 25, "window_step": 10}
    return [
        op.case("default", audio),
        op.case("longer transform", audio, nfft=64, **short),
        op.case("odd", columns, nfft=33, **short),
        op.case("frames first", columns, layout="tf", **short),
        op.case("magnitude", audio, power=1, **short),
        op.case("zeros outside", audio, reflect_padding=False, **short),
        op.case("inside", audio, center_windows=False, **short),
        op.case("a window", audio, window_fn=[1.0, 2.0, 3.0, 4.0], window_length=4, window_step=9),
        op.case("tiny", tiny, window_length=16, window_step=4),
        op.case("empty", op.samples(dtype=op.float32, layout="t")).equals([]),
        op.case("no sample", op.samples((5,), (0,), dtype=op.float32, layout="")).value_error(
            "sample 1"
        ),
        op.case(
            "too short", op.samples((99,), dtype=op.float32, layout=""), center_windows=False
        ).value_error("too short"),
        op.case("channels", op.samples((9, 2), dtype=op.float32, layout="")).value_error(
            "samples have several axes, as audio of several channels has: decoders.audio(downmix=T"
        ),
        op.case("integers", op.samples((99,), dtype=op.int16, layout="")).type_error("cast"),
        op.case("short transform", audio, nfft=256).value_error(
            "from 512 (`window_length`, 512 by default) to"
        ),
        op.case("a rate", op.samples((), dtype=op.float32, layout="")).type_error(
            "second output of decoders.audio"
        ),
        op.case("no step", audio, window_step=0).value_error("`window_step`"),
        op.case("cube", audio, power=3).value_error("`power`"),
        op.case("other layout", audio, layout="xy").value_error("`layout`"),
        op.case("window too short", audio, window_fn=[1.0, 2.0]).value_error("`window_fn`"),
    ]
