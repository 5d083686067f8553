"""`water`: images as if seen through waves."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.types.arrays import BoolVector, F32Vector, Float32Array, I64Table, Number, Slabs

from .displace import Displaced, Displacement, displace, displaced_type, longest_row, places_of
from .displace_gpu import displace_launch
from .rows import warp_row


@op.operator("water", schema="Water", same_shapes=True)
@op.uses_arguments(Displacement)
def water(
    input: op.SampleType,
    /,
    *,
    ampl_x: float = 10.0,
    ampl_y: float = 10.0,
    freq_x: float = 0.049087387,
    freq_y: float = 0.049087387,
    phase_x: float = 0.0,
    phase_y: float = 0.0,
    **options: op.Unpack[Displaced],
) -> op.SampleType:
    """Distort each image by waves, as the surface of water does.

    The pixel at (x, y), whole numbers, comes from

    (x + ampl_x * sin(freq_x * y + phase_x), y + ampl_y * cos(freq_y * x + phase_y)),

    counted from the corner of the first pixel; amplitudes in pixels, frequencies in radians per
    pixel, 2 pi / 128 by default. So INTERP_NN takes the pixel that holds that place, and
    INTERP_LINEAR moves the image by half a pixel too, as in DALI.

    Args:
        input: uint8, int8, uint16, int16, int32 or float32, HWC or no layout.
        ampl_x: the amplitude along x, in pixels.
        ampl_y: the amplitude along y, in pixels.
        freq_x: the frequency of the wave along x, in radians per pixel.
        freq_y: the frequency of the wave along y, in radians per pixel.
        phase_x: the phase of the wave along x, in radians.
        phase_y: the phase of the wave along y, in radians.

    Returns:
        Samples of the same shapes.

    Raises:
        OperatorTypeError: for other layouts and dtypes.
        OperatorValueError: for other interpolations.

    Example:
        image = gradiva.water(gradiva.imread("cat.jpg"), ampl_x=5.0, ampl_y=5.0, fill_value=0)
    """
    return displaced_type(input, options)


@op.jit
def _wave(amplitude: np.float32, sine: float) -> np.float32:
    """How far a wave moves a pixel, in pixels."""
    return amplitude * np.float32(sine)


@op.jit
def wave_shifts(waves: F32Vector, shifts: F32Vector, rises: F32Vector) -> None:
    """How far rows are moved along x, and columns along y. waves: float32, amplitude, frequency and
    phase of x, then of y. Sines are float64, rounded to float32."""
    for k in range(shifts.size):
        turn = np.float64(waves[1] * np.float32(k) + waves[2])
        shifts[k] = _wave(waves[0], np.sin(turn))
    for k in range(rises.size):
        turn = np.float64(waves[4] * np.float32(k) + waves[5])
        rises[k] = _wave(waves[3], np.cos(turn))


@op.jit
def water_samples(
    slabs: Slabs,
    shapes: I64Table,
    masks: BoolVector,
    outside: tuple[bool, bool, Number, np.float32],
    shifts: F32Vector,
    rises: F32Vector,
    begin: int,
    end: int,
) -> None:
    """Warp a range of samples as by waves on water.

    shapes: height, width and channels of each sample; masks: whether it is warped; outside: what
    pixels outside of the image are; shifts: how far each row moves to the right, rises: how far
    each column moves down, in pixels.
    """
    src, src_offsets, dst, dst_offsets = slabs
    longest = longest_row(shapes, masks, begin, end)
    xs, ys = np.empty(longest, np.float32), np.empty(longest, np.float32)
    for i in range(begin, end):
        if not masks[i]:
            continue
        height, width, channels = shapes[i, 0], shapes[i, 1], shapes[i, 2]
        for y in range(height):
            shift = shifts[y]
            for x in range(width):
                xs[x] = np.float32(x) + shift
                ys[x] = np.float32(y) + rises[x]
            to = dst_offsets[i] + y * width * channels
            image, target = (src, src_offsets[i], shapes[i]), (dst, to)
            warp_row(image, (xs, ys), width, outside, target)


def _shifts(call: op.Call) -> list[Float32Array]:
    """Of rows, and of columns, for the largest sample."""
    names = ("ampl_x", "freq_x", "phase_x", "ampl_y", "freq_y", "phase_y")
    with np.errstate(over="ignore"):
        terms = np.array([call[name] for name in names], np.float32)
    sizes = call.inputs[0].batch_shape.shapes[:, :2].max(axis=0, initial=0).tolist()
    shifts, rises = (np.empty(size, np.float32) for size in sizes)
    wave_shifts(terms, shifts, rises)
    return [shifts, rises]


@op.jit
def _places(
    height: int, width: int, places: Float32Array, shifts: F32Vector, rises: F32Vector
) -> None:
    """Fill in where each pixel comes from, (h, w, 2)."""
    for y in range(height):
        for x in range(width):
            places[y, x, 0] = np.float32(x) + shifts[y]
            places[y, x, 1] = np.float32(y) + rises[x]


@water.displacement
def _displacement(call: op.Call) -> list[Float32Array | None]:
    return places_of(call, _places, *_shifts(call))


@water.cpu
def _cpu(call: op.Call) -> None:
    displace(call, water_samples, *_shifts(call))


@water.gpu
def _gpu(call: op.Call) -> op.Launch:
    # Sines are the host's: they differ between libraries in the last place, which pixels show.
    shifts, rises = _shifts(call)
    return displace_launch(call, "water", np.concatenate([shifts, rises]), len(shifts))


@water.cases
def _cases() -> list[op.Case]:
    images = op.samples((6, 8, 3), (1, 5, 3), (9, 1, 3))
    arrays = [images.at(i) for i in range(3)]
    still = {"ampl_x": 0, "ampl_y": 0}
    quarter = np.pi / 2
    right = [np.concatenate([a[:, 1:], np.full_like(a[:, :1], 7)], axis=1) for a in arrays]
    return [
        op.case("default", images),
        op.case("still", images, **still).equals(arrays),
        op.case(
            "shift", images, ampl_x=1, ampl_y=0, freq_x=0, phase_x=quarter, fill_value=7
        ).equals(right),
        op.case(
            "linear", images, interp_type=op.InterpType.INTERP_LINEAR, fill_value=90
        ).no_oracle(),
        op.case("masked", images, mask=[0, 1, 0]),
        op.case("not applied", images, mask=0).equals(arrays).no_oracle(),
        op.case("floats", op.samples((5, 6, 2), dtype=op.float32), ampl_x=2),
        op.case("empty", op.samples()).equals([]),
        op.case("cubic", images, interp_type=2).value_error("`interp_type`"),
        op.case("layout", op.samples((3, 4, 5), layout="CHW")).type_error("layout"),
        op.case("dtype", op.samples((3, 4, 1), dtype=op.float64)).type_error("dtype"),
        op.case("mask of another length", images, mask=[0]).value_error("`mask`"),
    ]
