"""`nonsilent_region`: where the audio begins and how long it lasts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.cuda.launch import THREADS
from gradiva.eager.types.arrays import F64Vector, I32Vector, I64Vector, Vector

from .audio_types import INTEGERS

_DTYPES: Final = (*INTEGERS, op.float32)
_ONE_AXIS: Final = (
    "decoders.audio(downmix=True) mixes these into one axis; `audio.slice[:, 0]` takes the first"
)
_NARROW: Final = (op.uint8, op.int8, op.uint16, op.int16)


@op.operator("nonsilent_region", schema="NonsilentRegion")
def nonsilent_region(
    input: op.SampleType,
    /,
    *,
    cutoff_db: float = -60.0,
    window_length: int = 2048,
    reference_power: float | None = None,
    reset_interval: int = 8192,
    **common: op.Unpack[op.Common],
) -> tuple[op.SampleType, op.SampleType]:
    """Find the part of a recording between the silence at its ends.

    P[t] is the mean of the squares of the `window_length` samples that end at t, zeros before the
    first. The region begins where the first of these windows begins whose P is at least
    reference_power * 10 ** (cutoff_db / 10), and ends where the last one ends.

    Args:
        input: integers or float32, (n,), any layout.
        cutoff_db: what is silent, in decibels below `reference_power`.
        window_length: the length of a window in samples; n, if that is less.
        reference_power: the largest P of the sample by default. NaN is left out.
        reset_interval: without effect, since the sums are exact.

    Returns:
        Two int32 scalars: the first sample of the region, and its length. (0, 0) if all is silent;
        the whole recording if all of its samples are zero.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for arguments out of range.

    Example:
        audio, rate = gradiva.decoders.audio(np.fromfile("speech.wav", np.uint8), downmix=True)
        start, length = gradiva.nonsilent_region(audio, cutoff_db=-40, window_length=64)
        speech = gradiva.slice(audio, start=start, shape=length, axes=0)
    """
    op.require_dtype(input, _DTYPES)
    if input.ndim == 2:
        raise op.OperatorTypeError(
            f"the input has the wrong number of axes; if it is audio with channels, {_ONE_AXIS}",
            expected="1-D samples",
            got="2-D samples",
        )
    op.require_ndim(input, (1,))
    if window_length < 1:
        raise op.wrong_value("window_length", "an integer from 1 on", window_length)
    if reset_interval < 1 and reset_interval != -1:
        raise op.wrong_value("reset_interval", "an integer from 1 on, or -1", reset_interval)
    if reference_power is not None and not 0 < reference_power < math.inf:
        raise op.wrong_value("reference_power", "a positive number", reference_power)
    if not math.isfinite(cutoff_db):
        raise op.wrong_value("cutoff_db", "a number", cutoff_db)
    number = op.SampleType(op.int32, 0, "", input.device)
    return number, number


@nonsilent_region.shapes
def _shapes(call: op.Call) -> tuple[op.BatchShape, op.BatchShape]:
    sizes = call.inputs[0].batch_shape.volumes
    op.refuse_samples(sizes >= 1 << 31, "", "fewer than 2**31 samples", sizes)
    return op.BatchShape.equal(call.size, ()), op.BatchShape.equal(call.size, ())


@op.jit
def _powers(sound: Vector, length: int, sums: Vector, powers: F64Vector) -> None:
    """The mean square of the `length` samples that end at each one.

    A window is the end of one block of `length` samples and the beginning of the next: nothing is
    subtracted, so no error is left behind by what has been loud.
    sums: memory, as long as a window; of integers up to 16 bits they are exact.

    sound: one recording, n samples; length: in samples of audio; powers: (n,), in squared units of
    the recording.
    """
    sums[:] = 0
    kind = sums.dtype.type
    divisor = np.float64(length)
    for first in range(0, sound.size, length):
        count = min(length, sound.size - first)
        inside = kind(0)
        for t in range(count):
            value = kind(sound[first + t])
            inside += value * value
            rest = sums[t + 1] if t + 1 < length else kind(0)
            powers[first + t] = np.float64(inside + rest) / divisor
        # What is left of the block in windows that end in the next one.
        total = kind(0)
        for t in range(count - 1, -1, -1):
            value = kind(sound[first + t])
            total += value * value
            sums[t] = total


@op.jit
def _find(
    sound: Vector, length: int, given: float, ratio: float, sums: Vector, powers: F64Vector
) -> tuple[int, int]:
    """The begin and the length of the region.

    sound, length, sums, powers: as for `_powers`; given: the power to compare with, or a negative
    number for the largest one; ratio: the part of it from which on audio is not silent. The results
    are in samples of audio.
    """
    _powers(sound, length, sums, powers)
    reference = given
    if reference < 0.0:
        for t in range(powers.size):
            reference = powers[t] if powers[t] > reference else reference
    least = reference * ratio
    first, last = -1, -1
    for t in range(powers.size):
        if powers[t] >= least:
            first = t
            break
    if first < 0:
        return 0, 0
    for t in range(powers.size - 1, -1, -1):
        if powers[t] >= least:
            last = t
            break
    begin = max(first - (length - 1), 0)
    return begin, last - begin + 1


@op.jit
def _regions(
    source: tuple[Vector, I64Vector, I64Vector],
    rule: tuple[int, float, float],
    like: Vector,
    begins: I32Vector,
    lengths: I32Vector,
    begin: int,
    end: int,
) -> None:
    """Find the region of each sample that is not silent.

    source: the data, and the offset and the size of each sample; rule: the window in samples, the
    power to compare with (below 0 for the largest), and the ratio below which it is silent; like:
    an array of the dtype of sums; begins, lengths: the results, in samples of audio.
    """
    data, offsets, sizes = source
    window, given, ratio = rule
    for i in range(begin, end):
        size = sizes[i]
        begins[i], lengths[i] = 0, 0
        if size > 0:
            sound = data[offsets[i] : offsets[i] + size]
            length = min(window, size)
            sums, powers = np.empty(length, like.dtype), np.empty(size, np.float64)
            begins[i], lengths[i] = _find(sound, length, given, ratio, sums, powers)


class _Rule(NamedTuple):
    """The arguments, as kernels take them: the window's length, the given reference or -1, and what
    of it is loud; kind: the type of sums, exact for integers up to 16 bits."""

    window: int
    given: float
    ratio: float
    kind: np.dtype[Any]


def _rule(call: op.Call) -> _Rule:
    given = call["reference_power"]
    return _Rule(
        call["window_length"],
        -1.0 if given is None else given,
        10 ** min(call["cutoff_db"] / 10, 300.0),
        np.dtype(np.int64 if call.inputs[0].dtype in _NARROW else np.float64),
    )


@nonsilent_region.cpu
def _cpu(call: op.Call) -> None:
    audio = call.inputs[0]
    *rule, kind = _rule(call)
    begins, lengths = (output.as_array() for output in call.outputs)
    source = audio.data, audio.batch_shape.offsets, audio.batch_shape.volumes
    like = np.empty(0, kind)
    call.for_samples(_regions, source, tuple(rule), like, begins, lengths, work=audio)


_SUMS = op.CudaKernel("window_sums", (Path(__file__).with_name("window_sums.cuh"),), registers=48)
_KERNEL = op.CudaKernel("nonsilent_region", (Path(__file__).with_suffix(".cuh"),), registers=56)


@nonsilent_region.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    audio = call.inputs[0]
    window, given, ratio, kind = _rule(call)
    volumes = audio.batch_shape.volumes
    windows = np.clip(window, 1, np.maximum(volumes, 1))
    sums = op.Scratch(max(int(volumes.sum()), 1), kind)
    places = [audio.batch_shape.offsets, volumes.cumsum() - volumes]
    table = op.struct_rows(places, [volumes, windows])
    blocks = op.blocks_of(-(-volumes // windows), THREADS)
    begins, lengths = (op.OutputArg(output.data) for output in call.outputs)
    types = {"Kind": op.type_name(kind)}
    adding = _SUMS.unit({"Source": op.type_name(audio.dtype.numpy), **types})
    return [
        op.Launch(adding, blocks.total, (audio.data, op.OutputArg(sums), table, blocks.table)),
        op.Launch(
            _KERNEL.unit(types),
            call.size,
            (sums, begins, lengths, table, np.float64(given), np.float64(ratio)),
        ),
    ]


def _region(sound: Any, window: int, cutoff: float) -> tuple[int, int]:
    """The same in NumPy: a sum for each window."""
    squares = np.concatenate([np.zeros(window - 1), sound.astype(np.float64) ** 2])
    powers = np.array([squares[t : t + window].sum() for t in range(len(sound))])
    loud = np.flatnonzero(powers >= powers.max() * 10 ** (cutoff / 10))
    begin = max(int(loud[0]) - (window - 1), 0)
    return begin, int(loud[-1]) - begin + 1


@nonsilent_region.cases
def _cases() -> list[op.Case]:
    noise = op.samples((500,), (300,), (40,), dtype=op.float32, layout="t", low=-1.0)
    quiet = [np.pad(one, (200 + 30 * k, 400)) for k, one in enumerate(noise.arrays())]
    audio = op.batch(quiet, layout="t")
    whole = op.batch([(one * 30000).astype(np.int16) for one in quiet])
    short = {"window_length": 64, "reset_interval": 128}
    pulse = op.batch([np.array([0, 0, 1, 1, 0, 0], np.float32)])
    begins = [np.array(_region(one, 64, -20.0)[0], np.int32) for one in quiet]
    return [
        op.case("default", audio),
        op.case("short windows", audio, cutoff_db=-20.0, **short).equals(begins),
        op.case("integers", whole, cutoff_db=-20.0, **short),
        op.case("reference", audio, reference_power=0.5, cutoff_db=-10.0, **short),
        op.case("all is silent", audio, reference_power=1e9),
        op.case("zeros", op.batch([np.zeros(99, np.float32)])).equals([np.array(0, np.int32)]),
        op.case("pulse", pulse, window_length=2, cutoff_db=-1.0)
        .equals([np.array(2, np.int32)])
        .no_oracle(),
        op.case("no value", op.samples((0,), (3,), dtype=op.float32, layout="")).no_oracle(),
        op.case("empty", op.samples(dtype=op.float32, layout="t")).equals([]),
        op.case("columns", op.samples((9, 1), dtype=op.float32, layout="")).type_error(
            "the input has the wrong number of axes; if it is audio with channels, decoders.audio(d"
        ),
        op.case("doubles", op.samples((9,), dtype=op.float64, layout="")).type_error("dtype"),
        op.case("no window", audio, window_length=0).value_error("`window_length`"),
        op.case("interval", audio, reset_interval=0).value_error("`reset_interval`"),
        op.case("power", audio, reference_power=0.0).value_error("`reference_power`"),
        op.case("cutoff", audio, cutoff_db=float("nan")).value_error("`cutoff_db`"),
    ]
