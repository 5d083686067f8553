"""`normalize`: shift and scale samples to a mean of 0 and a standard deviation of 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.operators.argument_types import FloatArrayArg
from gradiva.eager.operators.decomposition import CompositeCall, DecompositionPart
from gradiva.ops.reductions.reduce import exclusive, groups, reduced_type

from .normalize_by_numbers import normalize_by_numbers
from .normalize_cpu import normalize_samples
from .normalize_gpu import normalize_launches
from .normalize_statistics import Numbers, given, measured_mean, measured_variance, normalized_axes


@op.operator("normalize", schema="Normalize", same_shapes=True)
def normalize(
    input: op.SampleType,
    /,
    *,
    axes: op.Ints | None = None,
    axis_names: op.Layout | None = None,
    batch: bool = False,
    mean: FloatArrayArg | None = None,
    stddev: FloatArrayArg | None = None,
    shift: float = 0.0,
    scale: float = 1.0,
    ddof: int = 0,
    epsilon: float = 0.0,
    dtype: op.DTypeLike = op.float32,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Shift and scale each sample to a mean of 0 and a standard deviation of 1, or to others.

    out = scale * (in - mean) / sqrt(stddev ** 2 + epsilon) + shift

    Means and deviations are measured in float64, in an order that depends on the samples' shapes
    alone, and rounded to float32 together with `scale`; the rest is float32, then rounded to the
    output dtype half away from zero, saturating.

    Where the variance that was measured is 0, and epsilon too, all values become `shift`; so they
    do where `ddof` leaves no values to divide by.

    Args:
        input: any dtype, rank and layout.
        axes: the axes that a mean goes over, at least one, negative ones counted from the last.
            Default: those along which `mean` or `stddev`, given as arrays, have an extent of 1;
            else all.
        axis_names: their letters in the input's layout, in place of `axes`.
        batch: measure the whole batch, whose samples may then differ in extent along `axes` only.
            The result depends on which samples the batch holds.
        mean, stddev: numbers, or an array per sample that has the sample's shape with 1 for the
            `axes`; arrays exclude `batch`. Measured if not given; the deviation is then from the
            mean given.
        shift, scale: the mean and the standard deviation of the output.
        ddof: taken from the number of values by which squares are divided, where they are measured.
        epsilon: a number that is added to the variance.
        dtype: the element type of the output, float32 by default.

    Returns:
        Samples of the same shapes and layout.

    Raises:
        OperatorValueError: for axes that are not there and for arrays of another shape.

    Example:
        gradiva.normalize(np.float32([1, 2, 3, 4]))  # [-1.3416, -0.4472, 0.4472, 1.3416]
        image = gradiva.normalize(gradiva.imread("cat.jpg"), axis_names="HW", dtype="float32")
    """
    exclusive(axes, axis_names)  # type: ignore[arg-type]
    if axes is not None or axis_names:
        reduced_type(input, axes, axis_names, True)
    if batch:
        for name, value in (("mean", mean), ("stddev", stddev)):
            if isinstance(value, op.SampleType | op.Value):
                raise op.OperatorValueError(
                    "with `batch` there is one number for all", argument=name
                )
    return input.with_(dtype=dtype)


normalize.samplewise = lambda arguments: not arguments.get("batch", False)


@normalize.decomposes
def _parts(call: CompositeCall) -> list[DecompositionPart] | None:
    """One number for all values is what a fused group takes."""
    numbers = (call.fixed.get(name) for name in ("mean", "stddev"))
    if any(number is None or np.ndim(number) for number in numbers):
        return None
    if call.fixed.get("batch") or "axes" in call.given or "axis_names" in call.given:
        return None
    names = ("mean", "stddev", "shift", "scale", "epsilon", "dtype")
    return [call.part(normalize_by_numbers.name, *names)]


def _scales(call: op.Call, taken: tuple[int, ...], mean: Numbers) -> Numbers:
    """What distances from the mean are multiplied by."""
    scale, epsilon = call["scale"], call["epsilon"]
    deviation = given(call, "stddev", taken)
    with np.errstate(all="ignore"):
        if deviation is not None:
            return deviation._replace(values=scale / np.sqrt(deviation.values**2 + epsilon))
        variance = measured_variance(call, taken, mean, call["ddof"])
        root = np.sqrt(variance.values + epsilon)
        return variance._replace(values=np.where(root > 0, scale / root, 0.0))


@normalize.cpu
def _cpu(call: op.Call) -> None:
    taken = normalized_axes(call)
    mean = given(call, "mean", taken) or measured_mean(call, taken)
    scales = _scales(call, taken, mean)
    with np.errstate(over="ignore"):
        numbers = [(one.values.astype(np.float32), one.steps) for one in (mean, scales)]
    extents = groups(call.inputs[0].batch_shape.shapes, taken)
    call.for_slabs(normalize_samples, extents, *numbers, np.float32(call["shift"]))


@normalize.gpu
def _gpu(call: op.Call) -> list[op.Launch]:
    return normalize_launches(call)


@normalize.cases
def _cases() -> list[op.Case]:
    images = op.samples((4, 5, 3), (1, 7, 3), (6, 1, 3))
    flat = op.samples((3, 4, 3), low=9, high=9)
    planes = op.samples((3, 4, 5), (3, 2, 5), dtype=op.float32, layout="CHW")
    same = op.samples((2, 3, 3), (4, 3, 3), (4, 1, 3))

    def table(*values: float) -> Any:
        return np.array(values, np.float32).reshape(1, 1, 1, 3).repeat(3, axis=0)

    powers = [(np.asarray(one, np.float32) - 128) / 64 for one in images]
    rows = [np.asarray(one, np.float32) - np.array([1, 2, 3], np.float32) for one in images]
    return [
        op.case("default", images),
        op.case("per channel", images, axes=[0, 1], ddof=0),
        op.case("per row", planes, axis_names="CW", epsilon=0.5),
        op.case("numbers", images, mean=128.0, stddev=64.0).equals(powers),
        op.case("arrays", images, mean=table(1, 2, 3), stddev=1.0).equals(rows).no_oracle(),
        op.case("mean as arrays", images, mean=table(1, 2, 3)).no_oracle(),
        op.case("batch", same, batch=True, axes=[0, 1], ddof=1),
        op.case("to uint8", images, shift=128.0, scale=40.0, dtype=op.uint8),
        op.case("no variance", flat, shift=5.0).equals([np.full((3, 4, 3), 5, np.float32)]),
        op.case("empty", op.samples(), axes=[0]).equals([]),
        op.case("no axes", images, axes=[]).value_error("at least one"),
        op.case("no such axis", images, axes=[3]).value_error("`axes`"),
        op.case("axes and names", images, axes=0, axis_names="H").value_error("exclude"),
        op.case("wrong shape", images, mean=table(1, 2, 3), axes=0).value_error("`mean`"),
        op.case("batch and arrays", images, mean=table(1, 2, 3), batch=True).value_error("`batch`"),
        op.case("batch of other widths", images, batch=True, axes=0).value_error("`batch`"),
        op.case("text", images, mean="128").type_error("`mean`"),
    ]
