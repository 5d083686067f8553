"""`random_crop_generator`: random crop windows for images of given shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradiva.eager.operators.arguments import Floats
from gradiva.eager.operators.call import Call
from gradiva.eager.operators.cases import Case, case, samples
from gradiva.eager.operators.operator import operator
from gradiva.eager.operators.type_rules import require_dtype, require_ndim
from gradiva.eager.support.errors import OperatorValueError
from gradiva.eager.types.batch_shape import Geometry
from gradiva.eager.types.dtypes import int32, int64, uint32, uint64
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import batch

from .crop_window import check_window_arguments, random_windows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gradiva.eager.operators.arguments import Sampled

__all__ = ["random_crop_generator"]


@operator("random_crop_generator", random=True)
def random_crop_generator(
    input: SampleType,
    /,
    *,
    random_area: Floats = (0.08, 1.0),
    random_aspect_ratio: Floats = (3 / 4, 4 / 3),
    num_attempts: int = 10,
    **common: Unpack[Sampled],
) -> tuple[SampleType, SampleType]:
    """Draw a crop window for each image shape.

    input: the shape of an image, (h, w) or (h, w, c): integers, 1-D.
    random_area, random_aspect_ratio, num_attempts: as in `decoders.image_random_crop`, whose
        windows these are, for the same key.
    rng, seed: see `gradiva.random`.

    Returns anchors (top, left) and shapes (h, w) of the windows, int32, in pixels. Raises
    OperatorValueError for shapes that are none, and for bad ranges.
    """
    require_dtype(input, (int32, int64, uint32, uint64), "the shape")
    require_ndim(input, (1,), "the shape")
    check_window_arguments(random_area, random_aspect_ratio, num_attempts)
    result = SampleType(int32, 1, "", input.device)
    return result, result


@random_crop_generator.shapes
def _shapes(call: Call) -> tuple[Geometry, Geometry]:
    lengths = call.inputs[0].geometry.volumes
    bad = (lengths != 2) & (lengths != 3)
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise OperatorValueError(
            "the input is the shape of an image",
            expected="(h, w) or (h, w, c)",
            got=f"{lengths[sample]} numbers",
            sample=sample,
        )
    pair = Geometry.equal(call.size, (2,))
    return pair, pair


@random_crop_generator.cpu
def _cpu(call: Call) -> None:
    extents = np.array([call.inputs[0].array(i)[:2] for i in range(call.size)], np.int64)
    windows = random_windows(call, extents[:, 0], extents[:, 1])
    call.outputs[0].as_array()[:] = windows[:, :2]
    call.outputs[1].as_array()[:] = windows[:, 2:]


@random_crop_generator.cases
def _cases() -> list[Case]:
    shapes = batch([np.array([375, 500, 3]), np.array([8, 9]), np.array([1, 1])])
    wide = batch([np.array([10, 100])] * 2)
    zeros = [np.zeros(2, np.int32)] * 3
    return [
        case("default", shapes).no_oracle(),
        case("whole images", shapes, num_attempts=0).equals(zeros).no_oracle(),
        case("high windows", wide, random_aspect_ratio=(0.1, 0.5)).no_oracle(),
        case("empty", samples(dtype=int32, layout="")).no_oracle(),
        case("no image", batch([np.array([0, 5])])).value_error("sample 0"),
        case("four axes", batch([np.arange(1, 5)])).value_error("(h, w)"),
        case("empty range", shapes, random_area=(0.5, 0.1)).value_error("`random_area`"),
        case("bad ratio", shapes, random_aspect_ratio=(0, 1)).value_error("`random_aspect_ratio`"),
        case("no shape", samples((4, 4, 3))).type_error("shape"),
    ]
