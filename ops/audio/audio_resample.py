"""`audio_resample`: audio at another sampling rate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import Float64Array

from .audio_types import SOUND_TYPES, convert_audio, scale, steps
from .resampling import lobes_of, resample_audio, window_table

_MOST = 1 << 40


@op.operator("audio_resample", schema="AudioResample", formerly=("experimental.audio_resample",))
def audio_resample(
    input: op.SampleType,
    /,
    *,
    in_rate: op.FloatArg | None = None,
    out_rate: op.FloatArg | None = None,
    scale: op.FloatArg | None = None,
    out_length: op.IntArg | None = None,
    quality: float = 50.0,
    dtype: op.DTypeLike | None = None,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Resample audio to another sampling rate, with windowed sinc functions in float32.

    An input of n samples becomes one of ceil(n * out_rate / in_rate). There is no low-pass
    filter: frequencies above half of a lower output rate are aliased. Filter first, or use
    recordings of this rate.

    Args:
        input: integers of up to 32 bits or float32; (n,) or (n, channels), any layout.
        in_rate, out_rate: the sampling rates of input and output, in any one unit. Give these, or
            `scale`, or `out_length`; all may differ per sample.
        scale: out_rate / in_rate, in place of the rates.
        out_length: the number of samples of the output, in place of the rates; 0 for none.
        quality: from 0 to 100: 0 has 3 lobes on each side, 50 has 16, 100 has 64.
        dtype: the element type of the output, one of those of the input; by default that of the
            input. The largest value of a signed type stands for 1.0; unsigned types are shifted by
            half of their range.

    Returns:
        Samples of the same rank, layout and channels.

    Raises:
        OperatorTypeError: for other dtypes and ranks.
        OperatorValueError: for arguments that do not go together or are out of range.

    Example:
        audio, rate = gradiva.decoders.audio(np.fromfile("speech.wav", np.uint8), downmix=True)
        gradiva.audio_resample(audio, in_rate=rate, out_rate=8000).shape  # (8000,)
    """
    op.require_dtype(input, SOUND_TYPES)
    op.require_ndim(input, (1, 2))
    if not 0 <= quality <= 100:
        raise op.wrong_value("quality", "a number from 0 to 100", quality)
    if dtype is not None and dtype not in SOUND_TYPES:
        raise op.wrong_type("dtype", ", ".join(one.name for one in SOUND_TYPES), dtype)
    if (in_rate is None) != (out_rate is None):
        raise op.OperatorValueError("`in_rate` and `out_rate` are given together")
    given = [one is not None for one in (in_rate, scale, out_length)]
    if sum(given) != 1:
        raise op.OperatorValueError(
            "give one of: `in_rate` and `out_rate`; `scale`; `out_length`",
            expected="one of them",
            got="several" if any(given) else "none",
        )
    return input if dtype is None else input.with_(dtype=dtype)


@dataclass(frozen=True)
class _AudioResamplePlan(op.Plan):
    """rates: (N, 2), the input's and the output's, relative to each other."""

    rates: Float64Array


def _rates(call: op.Call, sizes: op.Int64Array) -> Float64Array:
    if call["out_length"] is not None:
        wanted = call["out_length"]
        bad = (wanted < 0) | (wanted > _MOST)
        op.refuse_samples(bad, "out_length", "a length from 0 on", wanted)
        bad = (wanted > 0) & (sizes == 0)
        op.refuse_samples(bad, "out_length", "0, as of the input", wanted, "the sound is empty")
        return np.stack([sizes, wanted], axis=1).astype(np.float64)
    if call["scale"] is not None:
        ratio = call["scale"].astype(np.float64)
        bad = ~((ratio >= 0) & np.isfinite(ratio))
        op.refuse_samples(bad, "scale", "a number from 0 on", ratio)
        return np.stack([np.ones(call.size), ratio], axis=1)
    rates = [call[name].astype(np.float64) for name in ("in_rate", "out_rate")]
    bad = ~((rates[0] > 0) & np.isfinite(rates[0]))
    op.refuse_samples(bad, "in_rate", "a positive rate", rates[0])
    bad = ~((rates[1] >= 0) & np.isfinite(rates[1]))
    op.refuse_samples(bad, "out_rate", "a rate from 0 on", rates[1])
    return np.stack(rates, axis=1)


@audio_resample.shapes
def _shapes(call: op.Call) -> _AudioResamplePlan:
    shapes = call.inputs[0].batch_shape.shapes.copy()
    rates = _rates(call, shapes[:, 0])
    with np.errstate(invalid="ignore"):
        lengths = np.ceil(shapes[:, 0] * rates[:, 1] / rates[:, 0])
    lengths[shapes[:, 0] == 0] = 0
    op.refuse_samples(lengths > _MOST, "", f"at most {_MOST} samples", lengths, "too long")
    shapes[:, 0] = lengths
    return _AudioResamplePlan(shapes, rates)


@audio_resample.cpu
def _cpu(call: op.Call, plan: _AudioResamplePlan) -> None:
    source, target = call.inputs[0], call.outputs[0]
    lobes = lobes_of(call["quality"])
    window_table(lobes)  # made once, before the threads start
    channels = source.batch_shape.shapes[:, 1] if source.ndim == 2 else np.ones(call.size, np.int64)

    def compute(sample: int) -> None:
        sound, out = source.array(sample).reshape(-1), target.array(sample).reshape(-1)
        rate_in, rate_out = plan.rates[sample].tolist()
        if not out.size:
            return
        if rate_in == rate_out:
            convert_audio(sound, out)
            return
        floats = sound
        if sound.dtype != np.float32:
            floats = np.empty(sound.size, np.float32)
            convert_audio(sound, floats)
        made = out if out.dtype == np.float32 else np.empty(out.size, np.float32)
        resample_audio(floats, int(channels[sample]), rate_in, rate_out, lobes, made)
        if made is not out:
            convert_audio(made, out)

    call.each_sample(compute, target.batch_shape.volumes.tolist())


_KERNEL = op.CudaKernel("audio_resample", (Path(__file__).with_suffix(".cuh"),))


@audio_resample.gpu
def _gpu(call: op.Call, plan: _AudioResamplePlan) -> op.Launch:
    data, before, result, after = call.slabs
    shapes, volumes = call.inputs[0].batch_shape.shapes, call.outputs[0].batch_shape.volumes
    lobes = lobes_of(call["quality"])
    channels = shapes[:, 1] if shapes.shape[1] == 2 else np.ones(call.size, np.int64)
    rates = plan.rates
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (rates[:, 0] / rates[:, 1]).view(np.int64)
    equal = rates[:, 0] == rates[:, 1]
    wide, narrow = [before, after, ratios, shapes[:, 0]], [volumes, channels, equal, 0]
    types = {"Source": op.type_name(data.dtype), "Target": op.type_name(result.dtype)}
    numbers = *steps(data.dtype), *scale(result.dtype)
    return op.launch_over(
        _KERNEL.unit(types),
        data,
        result,
        op.struct_rows(wide, narrow),
        volumes,
        window_table(lobes).reshape(-1),
        np.int32(lobes),
        *numbers,
    )


@audio_resample.cases
def _cases() -> list[op.Case]:
    audio = op.samples((900,), (333,), (5,), dtype=op.float32, layout="t", low=-1.0)
    stereo = op.samples((300, 2), (41, 2), dtype=op.float32, layout="tc", low=-1.0)
    waves = op.samples((400,), (77,), dtype=op.int16, layout="")
    rates: dict[str, Any] = {"in_rate": 16000, "out_rate": 22050}
    return [
        op.case("rates", audio, **rates),
        op.case("lower rate", audio, in_rate=44100, out_rate=16000),
        op.case("scale", audio, scale=1.7),
        op.case("length", audio, out_length=200),
        op.case("lengths", audio, out_length=[100, 200, 300]).no_oracle(),
        op.case("the same", audio, scale=1).each(lambda one: one),
        op.case("per sample", audio, in_rate=[1, 2, 3], out_rate=[3, 2, 1]),
        op.case("best", audio, quality=100, **rates),
        op.case("fast", audio, quality=0, **rates),
        op.case("channels", stereo, **rates),
        op.case("integers", waves, **rates),
        op.case("to float", waves, dtype=op.float32, **rates),
        op.case("to signed bytes", audio, dtype=op.int8, scale=1.1),
        op.case("to bytes", audio, dtype=op.uint8, scale=1.1).no_oracle(),
        op.case("nothing", audio, scale=0),
        op.case("no value", op.samples((0,), (3,), dtype=op.float32, layout=""), scale=2),
        op.case("empty", op.samples(dtype=op.float32, layout="t"), scale=2).equals([]),
        op.case("none", audio).value_error("none"),
        op.case("both", audio, scale=1, out_length=3).value_error("several"),
        op.case("one rate", audio, in_rate=1).value_error("together"),
        op.case("no rate", audio, in_rate=0, out_rate=1).value_error("`in_rate`"),
        op.case("negative", audio, scale=-1).value_error("`scale`"),
        op.case("negative length", audio, out_length=-1).value_error("`out_length`"),
        op.case(
            "out of nothing", op.samples((0,), dtype=op.float32, layout=""), out_length=3
        ).value_error("sample 0"),
        op.case("quality", audio, scale=2, quality=101).value_error("`quality`"),
        op.case("doubles", op.samples((9,), dtype=op.float64, layout=""), scale=2).type_error(
            "dtype"
        ),
        op.case("to double", audio, scale=2, dtype=op.float64).type_error("`dtype`"),
        op.case("cube", op.samples((1, 2, 3), dtype=op.float32, layout=""), scale=2).type_error(
            "axes"
        ),
    ]
