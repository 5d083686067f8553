"""What each operator is drawn with, for `test_drawn.py`: inputs, arguments, how close.

Operators that have a test with drawn arguments of their own are in `drawn_elsewhere.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from gradiva import Batch, batch
from gradiva.eager.types.dtypes import InterpType, dtypes

from .drawing import COUNT, SPACES, arrays, each, encoded, f32, images, npy, some

__all__ = ["LINES", "Line"]


class Line(NamedTuple):
    """inputs: draws the list of inputs; arguments: draws the keywords.

    exact: equal, else the project's tolerances (or which, by the arguments); outputs: how
    many; refusals: DALI may refuse what was drawn, and then we do too.
    """

    inputs: Any
    arguments: Any = st.just({})
    exact: bool | Callable[[dict[str, Any]], bool] = True
    outputs: int = 1
    refusals: bool = False
    layout: bool = True


COLOR = ("uint8", "int16", "float32")
MOVED = ("uint8", "int8", "uint16", "int16", "int32", "int64", "float32", "float64")
ANY = (*MOVED, "uint32", "uint64", "bool")
DTYPES = {dtype.name: dtype for dtype in dtypes}
into = st.sampled_from([DTYPES[name] for name in COLOR])
gain, unit, flag = f32(-2, 3), f32(0, 1), st.integers(0, 1)
WARPED = ("uint8", "uint16", "int16", "float32")


def vector(low: float, high: float, size: int) -> Any:
    """As many numbers; for all samples, or a row for each."""
    one = st.tuples(*[f32(low, high)] * size)
    rows = st.tuples(*[one] * COUNT).map(lambda row: np.array(row, np.float32))
    return st.one_of(one, rows)


matrices = arrays(("float32",), shape=(2, 3))
tables = st.integers(1, 300).flatmap(
    lambda size: st.fixed_dictionaries(
        {
            "keys": st.lists(st.integers(0, 300), min_size=size, max_size=size),
            "values": st.lists(f32(-300, 600), min_size=size, max_size=size),
        },
        optional={"default_value": f32(-9, 300), "dtype": into},
    )
)
perspective = st.tuples(
    f32(0.5, 2),
    f32(-0.5, 0.5),
    f32(-20, 20),
    f32(-0.5, 0.5),
    f32(0.5, 2),
    f32(-20, 20),
    f32(-(2**-10), 2**-10),
    f32(-(2**-10), 2**-10),
    st.just(1.0),
)

orders = st.permutations(range(4)).map(lambda order: {"perm": tuple(order)})


@st.composite
def polygons(draw: Any) -> list[Batch]:
    """Masks of one polygon each (DALI loses all but the last of several), and which."""
    generator, count = np.random.default_rng(draw(st.integers(0, 999))), draw(st.integers(1, 6))
    ends = np.cumsum(generator.integers(3, 9, count)).astype(np.int32)
    starts = np.concatenate([[0], ends[:-1]])
    masks = np.stack([generator.permutation(count), starts, ends], axis=1).astype(np.int32)
    points = (generator.random((ends[-1], 2)) * 100).astype(draw(st.sampled_from(MOVED)))
    chosen = draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    return [batch([np.array(chosen, np.int32)]), batch([masks]), batch([points])]


def nearest(arguments: dict[str, Any]) -> bool:
    return bool(arguments["interp_type"] == InterpType.INTERP_NN)


LINES: dict[str, Line] = {
    "brightness": Line(
        images(COLOR), some(brightness_=each(gain), brightness_shift=each(f32(-1, 1)), dtype=into)
    ),
    "contrast": Line(
        images(COLOR), some(contrast_=each(gain), contrast_center=each(f32(-300, 300)), dtype=into)
    ),
    "saturation": Line(images(COLOR), some(saturation_=each(gain), dtype=into)),
    "hue": Line(images(COLOR), some(hue_=each(f32(-720, 720)), dtype=into), exact=False),
    "hsv": Line(
        images(COLOR),
        some(hue=each(f32(-720, 720)), saturation=each(gain), value=each(gain), dtype=into),
        exact=False,
    ),
    "color_space_conversion": Line(
        images(),
        some(
            image_type_=st.sampled_from([one for one in SPACES if one.name != "GRAY"]),
            output_type_=st.sampled_from(SPACES),
        ),
        refusals=True,
    ),
    "equalize": Line(images(layouts=("HWC", "CHW"), channels=(1, 3, 4))),
    "debayer": Line(
        arrays(("uint8", "uint16"), shape=(14, 22)).map(
            lambda one: [batch(one[0].arrays(), layout="HW")]
        ),
        some(
            blue_position_=st.tuples(flag, flag),
            algorithm=st.sampled_from(("bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv")),
        ),
        refusals=True,
    ),
    "lookup_table": Line(images(channels=(1, 3)), tables),
    "flip": Line(
        images(("uint8", "int16", "float32"), ("HWC", "CHW", "FHWC", "DHWC")),
        some(horizontal=each(flag, np.int32), vertical=each(flag, np.int32)),
    ),
    "transpose": Line(arrays(ANY, (4, 4), layout=True), orders),
    # Of an image of one pixel DALI makes 0 / 0.
    "sphere": Line(
        images(COLOR[::2], least=2),
        some(
            fill_value=f32(-5, 300),
            mask=st.tuples(*[flag] * COUNT).map(np.array),
            interp_type_=st.sampled_from((InterpType.INTERP_NN, InterpType.INTERP_LINEAR)),
        ),
        exact=nearest,
    ),
    "experimental.warp_perspective": Line(
        images(WARPED),
        some(
            matrix_=perspective,
            size=st.tuples(st.integers(1, 60), st.integers(1, 60)),
            inverse_map=st.booleans(),
            pixel_origin=st.sampled_from(("corner", "center")),
            border_mode=st.sampled_from(("constant", "replicate", "reflect", "wrap")),
            fill_value=f32(0, 200),
            interp_type_=st.sampled_from((InterpType.INTERP_NN, InterpType.INTERP_LINEAR)),
        ),
        exact=nearest,
    ),
    "jpeg_compression_distortion": Line(
        images(layouts=("HWC", "FHWC")), some(quality=each(st.integers(1, 100), np.int32))
    ),
    "multi_paste": Line(
        images(("uint8", "int16", "float32")),
        some(output_size_=st.tuples(st.integers(45, 60), st.integers(45, 60)), dtype=into),
    ),
    "coord_flip": Line(
        arrays(("float32",), (2, 2), layout=False, shape=(5, 2)),
        some(
            layout_=st.sampled_from(("xy", "yx")),
            flip_x=each(flag, np.int32),
            flip_y=each(flag, np.int32),
            center_x=each(f32(-9, 9)),
            center_y=each(f32(-9, 9)),
        ),
        exact=False,
    ),
    "decoders.image": Line(
        encoded(), some(output_type=st.sampled_from(SPACES), adjust_orientation=st.booleans())
    ),
    "decoders.image_crop": Line(
        encoded(),
        some(
            crop_h_=each(st.integers(1, 30), np.int32),
            crop_w_=each(st.integers(1, 30), np.int32),
            crop_pos_x=each(unit),
            crop_pos_y=each(unit),
        ),
        refusals=True,
    ),
    "decoders.image_slice": Line(
        encoded(),
        some(
            rel_start=st.tuples(f32(0, 0.5), f32(0, 0.5)),
            rel_shape=st.tuples(f32(0.25, 0.5), f32(0.25, 0.5)),
        ),
        refusals=True,
    ),
    "decoders.numpy": Line(npy(ANY)),
    "peek_image_shape": Line(
        encoded(), some(adjust_orientation=st.booleans(), image_type=st.sampled_from(SPACES))
    ),
    "get_property": Line(arrays(ANY, layout=True), st.just({"key": "layout"})),
    "segmentation.select_masks": Line(polygons(), some(reindex_masks=st.booleans()), outputs=2),
    "cast_like": Line(arrays(ANY, inputs=2)),
    "copy": Line(arrays(ANY, layout=True)),
    "zeros_like": Line(arrays(ANY, layout=True)),
    "ones_like": Line(arrays(ANY, layout=True)),
    "shapes": Line(arrays(ANY, layout=True)),
    "expand_dims": Line(
        arrays(ANY, (1, 3)),
        some(axes_=st.lists(st.integers(0, 4), min_size=1, max_size=2, unique=True).map(sorted)),
        refusals=True,
    ),
    "squeeze": Line(
        arrays(ANY, shape=(1, 3, 1, 2)),
        some(axes_=st.lists(st.sampled_from((0, 2)), min_size=1, max_size=2, unique=True)),
    ),
    "per_frame": Line(arrays(ANY, layout=True), some(replace=st.booleans()), refusals=True),
    "transforms.translation": Line(
        matrices,
        some(offset_=vector(-99, 99, 2), reverse_order=st.booleans()),
        exact=False,
        layout=False,
    ),
    "transforms.scale": Line(
        matrices,
        some(scale_=vector(-3, 3, 2), center=vector(-9, 9, 2), reverse_order=st.booleans()),
        exact=False,
        layout=False,
    ),
    "transforms.rotation": Line(
        matrices,
        some(angle_=each(f32(-720, 720)), center=vector(-9, 9, 2), reverse_order=st.booleans()),
        exact=False,
        layout=False,
    ),
    "transforms.shear": Line(
        matrices,
        st.one_of(
            some(shear_=vector(-3, 3, 2), center=vector(-9, 9, 2)),
            some(angles_=vector(-80, 80, 2), reverse_order=st.booleans()),
        ),
        exact=False,
        layout=False,
    ),
    "transforms.crop": Line(
        matrices,
        some(
            from_start_=vector(-3, 0, 2),
            from_end_=vector(1, 3, 2),
            to_start=vector(-3, 0, 2),
            to_end=vector(1, 3, 2),
            absolute=st.booleans(),
        ),
        exact=False,
        layout=False,
    ),
    "transforms.combine": Line(
        arrays(("float32",), shape=(3, 4), inputs=3),
        some(reverse_order=st.booleans()),
        exact=False,
        layout=False,
    ),
}
