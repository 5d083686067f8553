"""`random_crop_generator`: random crop windows for images of given shapes."""

from __future__ import annotations

import numpy as np

from gradiva.eager import extension as op

from .crop_window import check_window_arguments, random_windows


@op.operator("random_crop_generator", schema="RandomCropGenerator", random=True)
def random_crop_generator(
    input: op.SampleType,
    /,
    *,
    random_area: op.Floats = (0.08, 1.0),
    random_aspect_ratio: op.Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    **common: op.Unpack[op.Sampled],
) -> tuple[op.SampleType, op.SampleType]:
    """Draw a crop window for each image shape.

    input: the shape of an image, (h, w) or (h, w, c): integers, 1-D.
    random_area, random_aspect_ratio, num_attempts: as in `decoders.image_random_crop`, whose
        windows these are, for the same key.
    rng, seed: see `gradiva.random`.

    Returns anchors (top, left) and shapes (h, w) of the windows, int32, in pixels. Raises
    OperatorValueError for shapes that are none, and for bad ranges.
    """
    op.require_dtype(input, (op.int32, op.int64, op.uint32, op.uint64), "the shape")
    op.require_ndim(input, (1,), "the shape")
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    result = op.SampleType(op.int32, 1, "", input.device)
    return result, result


@random_crop_generator.shapes
def _shapes(call: op.Call) -> tuple[op.Geometry, op.Geometry]:
    lengths = call.inputs[0].geometry.volumes
    bad = (lengths != 2) & (lengths != 3)
    op.refuse_samples(
        bad,
        "",
        "(h, w) or (h, w, c)",
        lambda sample: f"{lengths[sample]} numbers",
        "the input is the shape of an image",
    )
    pair = op.Geometry.equal(call.size, (2,))
    return pair, pair


@random_crop_generator.cpu
def _cpu(call: op.Call) -> None:
    extents = np.array([call.inputs[0].array(i)[:2] for i in range(call.size)], np.int64)
    windows = random_windows(call, extents[:, 0], extents[:, 1])
    call.outputs[0].as_array()[:] = windows[:, :2]
    call.outputs[1].as_array()[:] = windows[:, 2:]


@random_crop_generator.cases
def _cases() -> list[op.Case]:
    shapes = op.batch([np.array([375, 500, 3]), np.array([8, 9]), np.array([1, 1])])
    wide = op.batch([np.array([10, 100])] * 2)
    zeros = [np.zeros(2, np.int32)] * 3
    return [
        op.case("default", shapes).no_oracle(),
        op.case("whole images", shapes, num_attempts=0).equals(zeros).no_oracle(),
        op.case("high windows", wide, random_aspect_ratio=(0.1, 0.5)).no_oracle(),
        op.case("empty", op.samples(dtype=op.int32, layout="")).no_oracle(),
        op.case("no image", op.batch([np.array([0, 5])])).value_error("sample 0"),
        op.case("four axes", op.batch([np.arange(1, 5)])).value_error("(h, w)"),
        op.case("empty range", shapes, random_area=(0.5, 0.1)).value_error("`random_area`"),
        op.case("bad ratio", shapes, random_aspect_ratio=(0, 1)).value_error(
            "`random_aspect_ratio`"
        ),
        op.case("no shape", op.samples((4, 4, 3))).type_error("shape"),
    ]
