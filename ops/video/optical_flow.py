"""`optical_flow`: where the pixels of each frame have moved in the next one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.support.opencv import cv2
from gradiva.eager.types.arrays import Array, Float32Array

_LEAST: Final = 32
"""OpenCV reads outside of narrower images."""
_PRESETS: Final = {0.0: 2, 0.5: 1, 1.0: 0}
"""Of DIS: medium, fast, ultrafast."""
_GRIDS: Final = (1, 2, 4, 8)
_RED: Final = {op.ImageType.RGB: "COLOR_RGB2GRAY", op.ImageType.BGR: "COLOR_BGR2GRAY"}


@op.operator(
    "optical_flow",
    schema="OpticalFlow",
    inputs=(1, 2),
    old_arguments={"output_format": "output_grid"},
)
def optical_flow(
    input: op.SampleType,
    hints: Any = None,
    /,
    *,
    preset: float = 0.0,
    output_grid: int = 4,
    enable_temporal_hints: bool = False,
    enable_external_hints: bool = False,
    hint_grid: int = 4,
    image_type: op.ImageType = op.ImageType.RGB,
    **common: op.Unpack[op.Common],
) -> op.SampleType:
    """Compute the optical flow between consecutive frames, by dense inverse search.

    A vector says where a pixel of a frame has moved in the next one. It is OpenCV's
    `DISOpticalFlow` on gray frames. Vectors have the form of those that graphics cards make, and
    about their directions, but not their bits.

    Args:
        input: sequences of frames, uint8, FHWC, of three channels, or of one with GRAY.
        hints: with `enable_external_hints`, vectors to begin with, float32, FHWC: for each pair of
            frames, in cells of `hint_grid` pixels, the first one at the upper left corner.
        preset: 0 is slow and good, 0.5 in between, 1 fast: the presets medium, fast and ultrafast
            of DIS.
        output_grid: each vector is the mean of a cell of so many pixels in both directions: 1, 2, 4
            or 8.
        enable_temporal_hints: begin with the vectors between the two frames before.
        enable_external_hints: whether there are `hints`.
        hint_grid: 1, 2, 4 or 8.
        image_type: RGB, BGR or GRAY.

    Returns:
        float32, FHWC: for each frame but the last one, (H / output_grid, W / output_grid, 2),
        rounded up, how far to the right and down, in pixels of the input.

    Raises:
        OperatorTypeError: for other dtypes and layouts, and hints that are missing or not asked
            for.
        OperatorValueError: for other presets, grids and types, for other numbers of channels, and
            with the sample, for hints of another shape.

    Example:
        video = gradiva.decoders.video(np.fromfile("clip.mp4", np.uint8), frames=[0, 1, 2])
        gradiva.optical_flow(video).shape  # (2, 8, 16, 2)
    """
    op.require_dtype(input, (op.uint8,))
    layout = op.require_layout(input, ("FHWC",), {4: "FHWC"})
    if preset not in _PRESETS:
        raise op.wrong_value("preset", "0, 0.5 or 1", preset)
    for name, grid in (("output_grid", output_grid), ("hint_grid", hint_grid)):
        if grid not in _GRIDS:
            raise op.wrong_value(name, "1, 2, 4 or 8", grid)
    if image_type not in (*_RED, op.ImageType.GRAY):
        raise op.wrong_value("image_type", "RGB, BGR or GRAY", op.ImageType(image_type).name)
    if enable_external_hints != (hints is not None):
        raise op.OperatorTypeError(
            "`enable_external_hints` says whether there is a second input, with hints",
            expected="two inputs" if enable_external_hints else "one input",
            got="one" if enable_external_hints else "two",
        )
    if hints is not None:
        op.require_dtype(hints, (op.float32,), "hints")
        op.require_ndim(hints, (4,), "hints")
    return op.SampleType(op.float32, 4, layout, input.device)


optical_flow.libraries = ("opencv-python-headless",)


@optical_flow.shapes
def _shapes(call: op.Call) -> op.Int64Array:
    shapes = call.inputs[0].batch_shape.shapes
    channels = 1 if call["image_type"] == op.ImageType.GRAY else 3
    for sample in np.flatnonzero(shapes[:, 3] != channels)[:1].tolist():
        raise op.wrong_value(
            "image_type", f"frames of {channels} channels", f"{shapes[sample, 3]}"
        ).complete(sample=sample)
    if len(call.inputs) > 1:
        expected = _fields(shapes, call["hint_grid"])
        given = call.inputs[1].batch_shape.shapes
        for sample in np.flatnonzero((given != expected).any(axis=1))[:1].tolist():
            raise op.OperatorValueError(
                "the hints do not fit the frames",
                expected=str(tuple(expected[sample].tolist())),
                got=str(tuple(given[sample].tolist())),
                sample=sample,
            )
    return _fields(shapes, call["output_grid"])


def _fields(shapes: op.Int64Array, grid: int) -> op.Int64Array:
    """The shapes of vectors in cells of a grid, for sequences of such shapes."""
    made = shapes.copy()
    made[:, 0] = np.maximum(shapes[:, 0] - 1, 0)
    made[:, 1:3] = -(-shapes[:, 1:3] // grid)
    made[:, 3] = 2
    return made


@optical_flow.cpu
def _cpu(call: op.Call) -> None:
    videos, target = call.inputs[0], call.outputs[0]
    conversion = _RED.get(call["image_type"])
    preset, grid = _PRESETS[call["preset"]], call["output_grid"]
    dense_search: Any = getattr(cv2, "DISOpticalFlow_create")  # noqa: B009  stubs lack it
    temporal, coarse = call["enable_temporal_hints"], call["hint_grid"]

    def follow(sample: int) -> None:
        video, out = videos.array(sample), target.array(sample)
        if not out.size:
            return
        hints = call.inputs[1].array(sample) if len(call.inputs) > 1 else None
        height, width = video.shape[1:3]
        search = dense_search(preset)
        before, flow = _gray(video[0], conversion), None
        for number, fields in enumerate(out):
            after = _gray(video[number + 1], conversion)
            start = flow if temporal else None
            if hints is not None:
                start = _spread(hints[number], coarse, before.shape)
            flow = search.calc(before, after, start)
            _gather(flow[:height, :width], grid, fields)
            before = after

    call.each_sample(follow, videos.batch_shape.volumes.tolist())


def _gray(frame: Array, conversion: str | None) -> Array:
    """A frame in gray, as large as OpenCV needs it: its last row and column are repeated."""
    gray = frame[..., 0] if conversion is None else cv2.cvtColor(frame, getattr(cv2, conversion))
    below, beside = (max(_LEAST - extent, 0) for extent in gray.shape)
    return np.pad(gray, ((0, below), (0, beside)), mode="edge")


def _spread(hints: Array, grid: int, shape: tuple[int, ...]) -> Array:
    """A vector for each pixel, from one for each cell."""
    dense = np.repeat(np.repeat(hints, grid, 0), grid, 1)[: shape[0], : shape[1]]
    below, beside = shape[0] - dense.shape[0], shape[1] - dense.shape[1]
    return np.pad(dense, ((0, below), (0, beside), (0, 0)), mode="edge")


def _gather(flow: Float32Array, grid: int, out: Float32Array) -> None:
    """The mean of each cell; the last cells may have fewer pixels."""
    if grid == 1:
        out[...] = flow
        return
    rows = np.arange(0, flow.shape[0], grid)
    columns = np.arange(0, flow.shape[1], grid)
    sums = np.add.reduceat(np.add.reduceat(flow, rows, 0), columns, 1)
    tall = np.diff(rows, append=flow.shape[0])
    wide = np.diff(columns, append=flow.shape[1])
    out[...] = sums / (tall[:, None] * wide).astype(np.float32)[..., None]


def sliding(height: int, width: int, right: int, down: int, count: int = 3) -> Array:
    """Frames whose content moves by so many pixels from each to the next, for examples."""
    across, along = count * abs(right), count * abs(down)
    y, x = np.mgrid[0 : height + 2 * along, 0 : width + 2 * across]
    picture = 128 + 50 * np.sin(x / 3 + np.cos(y / 7)) + 50 * np.cos(y / 4 + np.sin(x / 9))
    frames = [
        picture[along - k * down :, across - k * right :][:height, :width] for k in range(count)
    ]
    return np.repeat(np.stack(frames).astype(np.uint8)[..., None], 3, 3)


@optical_flow.cases
def _cases() -> list[op.Case]:
    videos = op.batch([sliding(40, 48, 2, 1), sliding(33, 70, 1, -2, 2)], layout="FHWC")
    grays = op.batch([videos.at(0)[..., :1], videos.at(1)[..., :1]], layout="FHWC")
    still = op.batch([sliding(36, 50, 0, 0, 4)], layout="FHWC")
    hints = op.batch(
        [np.zeros((2, 10, 12, 2), np.float32), np.zeros((1, 9, 18, 2), np.float32)], layout="FHWC"
    )
    nothing = [np.zeros((3, 9, 13, 2), np.float32)]
    external = {"enable_external_hints": True}
    return [
        op.case("default", videos).no_oracle(),
        op.case("still", still).equals(nothing).no_oracle(),
        op.case("fine", videos, output_grid=1, preset=1.0).no_oracle(),
        op.case("gray", grays, output_grid=2, image_type=op.ImageType.GRAY).no_oracle(),
        op.case("bgr", videos, preset=0.5, image_type=op.ImageType.BGR).no_oracle(),
        op.case("temporal", videos, enable_temporal_hints=True).no_oracle(),
        op.case("hints", videos, hints, **external).no_oracle(),
        op.case("tiny", op.samples((2, 1, 3, 3), (2, 40, 5, 3), layout="FHWC")).no_oracle(),
        op.case("one frame", op.samples((1, 40, 40, 3), layout="FHWC"))
        .equals([np.zeros((0, 10, 10, 2), np.float32)])
        .no_oracle(),
        op.case("empty", op.samples(layout="FHWC")).equals([]).no_oracle(),
        op.case("preset", videos, preset=0.3).value_error("`preset`"),
        op.case("grid", videos, output_grid=3).value_error("`output_grid`"),
        op.case("type", videos, image_type=op.ImageType.YCbCr).value_error("`image_type`"),
        op.case("channels", grays).value_error("3 channels"),
        op.case("no hints", videos, **external).type_error("two inputs"),
        op.case("hints alone", videos, hints).type_error("one input"),
        op.case("shape of hints", videos, hints, hint_grid=8, **external).value_error("sample 0"),
        op.case("an image", op.samples((4, 5, 3))).type_error("layout"),
        op.case("dtype", op.samples((2, 4, 5, 3), dtype=op.float32, layout="FHWC")).type_error(
            "uint8"
        ),
    ]
