"""Stored pipelines, both ways: one program for both libraries, stored by one, run by the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradiva
from gradiva import Batch, batch
from gradiva.capture.graph.builtin_ops import constant, fused, parameter, random_key
from gradiva.capture.serialization.files import load
from gradiva.capture.serialization.reader import read_pipeline
from gradiva.eager.operators.operator import operators
from gradiva.ops.image.color.normalize_by_numbers import normalize_by_numbers
from gradiva.ops.image.color.normalize_pixels import normalize_pixels
from gradiva.ops.image.color.pad_channels import pad_channels
from gradiva.ops.indexing.subscript import subscript
from gradiva.ops.math.arithmetic import Arithmetic

from .pictures import FOLDER, part
from .reference import Samples, _samples, assert_close, dali, fn, math, types
from .test_serialize_cases import CASES, holds_objects, in_format
from .test_serialize_conditionals import PROGRAMS as CONDITIONALS
from .test_serialize_conditionals import Ours, made
from .test_serialize_readers import OURS_ALONE, READERS
from .test_serialize_videos import NAMES as VIDEOS

MOST_ULPS = 4
"""As in test_math.py."""

Program = Callable[[Any], Any]


class Library(NamedTuple):
    """One of the two libraries, by the names that programs use."""

    fn: Any
    types: Any
    math: Any
    newaxis: Any


OURS = Library(gradiva.fn, gradiva.types, gradiva.math, gradiva.newaxis)
THEIRS = Library(fn, types, math, dali.newaxis)


@cache
def given() -> dict[str, Batch]:
    """What the external sources deliver, by name."""
    noise = np.random.default_rng(1)
    paths = ("things/coffee", "animals/chelsea")
    files = [np.frombuffer((FOLDER / f"{path}.jpg").read_bytes(), np.uint8) for path in paths]
    return {
        "images": batch(
            [part("coffee", 80, 200, 90, 120), part("rocket", 100, 250, 75, 64)], layout="HWC"
        ),
        "files": batch(files),
        "points": batch([noise.uniform(0.05, 0.95, (7, 3)).astype(np.float32) for _ in range(2)]),
        "whole": batch([noise.integers(1, 9, (5, 4)).astype(np.int32) for _ in range(2)]),
        "share": batch([np.float32(0.25), np.float32(0.75)]),
        "yes": batch([np.int32(1), np.int32(0)]),
        "number": batch([np.int32(2), np.int32(-1)]),
        "extent": batch([np.array([90, 120, 3], np.int64), np.array([75, 64, 3], np.int64)]),
    }


def take(lib: Library, name: str, **more: Any) -> Any:
    """A declared external source called `name`; of ours, one with its data."""
    data = given()[name]
    dtype = {"uint8": "UINT8", "float32": "FLOAT", "int32": "INT32", "int64": "INT64"}
    more |= {"dtype": getattr(lib.types, dtype[data.dtype.name]), "ndim": data.ndim}
    if data.layout:
        more["layout"] = data.layout
    if lib is OURS:
        more["source"] = lambda: data
    return lib.fn.external_source(name=name, **more)


def decode(lib: Library) -> Any:
    files = take(lib, "files")
    return (
        lib.fn.decoders.image(files, output_type=lib.types.GRAY),
        lib.fn.decoders.image_crop(files, crop=[100, 90], crop_pos_x=take(lib, "share")),
        lib.fn.decoders.image_slice(files, rel_start=[0.1, 0.25], rel_shape=[0.5, 0.25]),
        lib.fn.peek_image_shape(files),
    )


def read(lib: Library) -> Any:
    files, labels = lib.fn.readers.file(file_root=str(FOLDER), name="Reader", pad_last_batch=True)
    some = lib.fn.readers.file(
        file_root=str(FOLDER), files=["things/coffee.jpg", "animals/chelsea.jpg"], labels=[4, 2]
    )
    return files, labels, *some


def resize(lib: Library) -> Any:
    images = take(lib, "images")
    return (
        lib.fn.resize(images, size=[48, 40], interp_type=lib.types.INTERP_CUBIC),
        lib.fn.resize(images, resize_shorter=33.0, antialias=False),
        lib.fn.resize(images, resize_x=20.0, dtype=lib.types.FLOAT, subpixel_scale=False),
    )


def windows(lib: Library) -> Any:
    images = take(lib, "images")
    share = take(lib, "share")
    return (
        lib.fn.crop(images, crop=[30, 44], crop_pos_x=share, crop_pos_y=0.1),
        lib.fn.crop(
            images,
            crop=[100, 50],
            out_of_bounds_policy="pad",
            fill_values=[7.0, 1.5, 3.0],
            dtype=lib.types.FLOAT,
        ),
        lib.fn.flip(images, horizontal=take(lib, "yes"), vertical=1),
        lib.fn.transpose(images, perm=[2, 0, 1]),
        lib.fn.cast(images, dtype=lib.types.INT16),
    )


def normalized(lib: Library) -> Any:
    images = take(lib, "images")
    return (
        lib.fn.crop_mirror_normalize(
            images,
            crop=[32, 40],
            mirror=take(lib, "yes"),
            mean=[123.675, 116.28, 103.53],
            std=[58.395, 57.12, 57.375],
            crop_pos_x=take(lib, "share"),
            dtype=lib.types.FLOAT,
        ),
        lib.fn.crop_mirror_normalize(images, output_layout="HWC", scale=0.3, shift=0.7),
    )


def light(lib: Library) -> Any:
    images = take(lib, "images")
    share = take(lib, "share")
    return (
        lib.fn.brightness(images, brightness=share, brightness_shift=0.1),
        lib.fn.contrast(images, contrast=1.3, contrast_center=90.0),
        lib.fn.brightness_contrast(images, contrast=share, dtype=lib.types.FLOAT),
        lib.fn.color_space_conversion(
            images, image_type=lib.types.RGB, output_type=lib.types.YCbCr
        ),
    )


def color(lib: Library) -> Any:
    images = take(lib, "images")
    return (
        lib.fn.hue(images, hue=25.0),
        lib.fn.saturation(images, saturation=take(lib, "share")),
        lib.fn.hsv(images, hue=12.5, saturation=0.7, value=1.2),
        lib.fn.color_twist(images, hue=-40.0, saturation=1.5, contrast=0.8, brightness=1.1),
    )


def blur(lib: Library) -> Any:
    images = take(lib, "images")
    return (
        lib.fn.gaussian_blur(images, sigma=1.5),
        lib.fn.gaussian_blur(images, window_size=[5, 3], dtype=lib.types.FLOAT),
    )


def arithmetic(lib: Library) -> Any:
    images, whole = take(lib, "images"), take(lib, "whole")
    two = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift",
           "rshift", "eq", "ne", "lt", "le", "gt", "ge")  # fmt: skip
    found = [getattr(operator, name)(whole, 2) for name in two]
    found += [getattr(operator, name)(3, whole) for name in ("sub", "truediv", "floordiv")]
    return (
        *found,
        -whole,
        +whole,
        abs(-whole),
        ~whole,
        images * 2.5 + 1,
        images + np.uint8(200),
        whole + np.int64(1 << 40),
        whole > True,
    )


def functions(lib: Library) -> Any:
    points = take(lib, "points")
    one = ("fabs", "floor", "ceil", "sqrt", "rsqrt", "cbrt", "exp", "log", "log2", "log10", "sin",
           "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
           "atanh")  # fmt: skip
    found = [getattr(lib.math, name)(points) for name in one]
    found += [getattr(lib.math, name)(points, 0.5) for name in ("min", "max", "fpow", "atan2")]
    return *found, lib.math.acosh(points + 1), lib.math.clamp(points, 0, 0.5)


def subscripts(lib: Library) -> Any:
    images, number = take(lib, "images"), take(lib, "number")
    return (
        images[2:-3, :, 0],
        images[number],
        images[number:, 5],
        images[::-2, 3:50:5],
        images[:],
        images[:, :, -1:],
        images[:, lib.newaxis("N"), number],
        images[1, lib.newaxis],
    )


def constants(lib: Library) -> Any:
    images = take(lib, "images")
    channels = np.array([1, 2, 3], np.uint8)
    table = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    if lib is THEIRS:
        nodes = [types.Constant(channels, device="cpu"), types.Constant(table, device="cpu")]
        return images + nodes[0], nodes[1] * 2.0, nodes[1], types.Constant(5, types.INT16)
    return images + channels, gradiva.tensor(table) * images[0, 0, 0] * 0 + table, table, 5


def sized(lib: Library) -> Any:
    """Arguments per sample whose element types DALI does not take as they are."""
    images = take(lib, "images")
    share, yes = take(lib, "share"), take(lib, "yes")
    float32, int32 = lib.types.FLOAT, lib.types.INT32
    side = lib.fn.cast(share * 100 + 10, dtype=int32)
    if lib is THEIRS:
        side = lib.fn.cast(side, dtype=float32)
    mirror = yes == 1
    if lib is THEIRS:
        mirror = lib.fn.cast(mirror, dtype=int32)
    filter = yes
    if lib is THEIRS:
        filter = fn.reinterpret(yes, dtype=types.DALIDataType.INTERP_TYPE)
    return (
        lib.fn.flip(images, horizontal=mirror),
        lib.fn.resize(images, resize_x=side, resize_y=20.0, interp_type=filter),
    )


def beside(lib: Library) -> Any:
    images = take(lib, "images")
    return (
        images.shape(),
        images.shape(dtype=lib.types.FLOAT),
        images.property("layout"),
        images.source_info(),
    )


def matrices(lib: Library) -> Any:
    made = lib.fn.transforms
    first = made.translation(offset=[1.5, -2.0])
    second = made.scale(first, scale=[2.0, 0.5], center=[3.0, 1.0])
    third = made.rotation(second, angle=30.0)
    return (
        third,
        made.shear(third, shear=[0.25, 0.5]),
        made.combine(first, third),
        made.crop(from_start=[0.0, 1.0], from_end=[2.0, 3.0], to_end=[4.0, 4.0]),
    )


def drawn(lib: Library) -> Any:
    """Values differ by design; shapes and types are the same."""
    images = take(lib, "images")
    small = lib.fn.random_resized_crop(images, size=[20, 24], random_area=[0.3, 0.5], seed=8)
    return (
        lib.fn.random.uniform(range=[0.5, 1.5]),
        lib.fn.random.uniform(values=[1.0, 2.0], shape=[2, 3], dtype=lib.types.INT32),
        lib.fn.random.normal(mean=take(lib, "share"), stddev=0.0),
        lib.fn.random.normal(images, seed=5),
        lib.fn.random.coin_flip(probability=1.0),
        *lib.fn.random_crop_generator(take(lib, "extent")),
        small,
    )


def drawn_window(lib: Library) -> Any:
    return lib.fn.decoders.image_random_crop(take(lib, "files"), random_area=[0.2, 0.4])[:, :, 0:1]


EXACT: list[Program] = [
    decode,
    read,
    windows,
    normalized,
    light,
    arithmetic,
    subscripts,
    constants,
    beside,
]
CLOSE: list[Program] = [resize, blur, color, functions, sized, matrices]
DRAWN: list[Program] = [drawn, drawn_window]

OPTIONS: dict[str, Any] = {
    "batch_size": 2, "num_threads": 1, "device_id": None, "seed": 3, "prefetch_queue_depth": 1,
    "exec_async": False, "exec_pipelined": False,
}  # fmt: skip


def ours(program: Program) -> gradiva.Pipeline:
    pipe = gradiva.Pipeline(**OPTIONS)
    with pipe:
        outputs = program(OURS)
        pipe.set_outputs(*outputs if isinstance(outputs, list | tuple) else (outputs,))
    return pipe


def theirs(program: Program) -> Any:
    pipe = dali.Pipeline(**OPTIONS)
    with pipe:
        outputs = program(THEIRS)
        pipe.set_outputs(*outputs if isinstance(outputs, list | tuple) else (outputs,))
    return pipe


def run_theirs(pipe: Any, names: tuple[str, ...]) -> tuple[Samples, ...]:
    for name in names:
        data = given()[name]
        samples = [np.asarray(data.at(i)) for i in range(len(data))]
        pipe.feed_input(name, samples, layout=data.layout or None)
    return tuple(_samples(output) for output in pipe.run())


def stored_by_us(program: Program) -> tuple[tuple[Batch, ...], tuple[Samples, ...]]:
    """What we make of our own pipeline, and DALI of the stored one."""
    pipe = ours(program)
    data = pipe.serialize()
    loaded = dali.Pipeline.deserialize(data)
    return pipe.run(), run_theirs(loaded, read_pipeline(data).fed)


def stored_by_them(program: Program) -> tuple[tuple[Batch, ...], tuple[Samples, ...]]:
    """What we make of the stored pipeline of DALI, and it itself."""
    pipe = theirs(program)
    data = pipe.serialize()
    names = read_pipeline(data).fed
    sources = {name: partial(lambda one: given()[one], name) for name in names}
    loaded = load(gradiva.Pipeline, data, None, {}, sources)
    pipe.build()
    return loaded.run(), run_theirs(pipe, names)


WAYS = {"ours to theirs": stored_by_us, "theirs to ours": stored_by_them}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", EXACT, ids=lambda program: program.__name__)
def test_equal(program: Program, way: str) -> None:
    got, expected = WAYS[way](program)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", CLOSE, ids=lambda program: program.__name__)
def test_close(program: Program, way: str) -> None:
    got, expected = WAYS[way](program)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        if program is functions:
            for index, samples in enumerate(other):
                np.testing.assert_array_max_ulp(one.at(index), samples, maxulp=MOST_ULPS)
            continue
        near = 1e-4 if program in (resize, sized) else 1e-6
        # The layout of matrices is a wildcard in DALI.
        named = program is not matrices
        assert_close(one, other, exact=False, float_range=near, layout=named)


@pytest.mark.parametrize("way", WAYS)
def test_random_values_have_the_same_types(way: str) -> None:
    for one, other in zip(*WAYS[way](drawn), strict=True):
        assert one.layout == other.layout
        for index, samples in enumerate(other):
            assert one.at(index).dtype == samples.dtype
            assert one.at(index).shape == samples.shape
    for one, other in zip(*WAYS[way](drawn_window), strict=True):
        for index, samples in enumerate(other):
            assert one.at(index).ndim == samples.ndim == 3
            assert one.at(index).shape[2] == samples.shape[2] == 1


def _plain(name: str) -> str:
    """A name of the format or one of ours, without what they differ in."""
    return name.replace("__", ".").replace("_", "").lower()


def test_every_operator_takes_part() -> None:
    """An operator that the format knows, and no program and no case of its own calls, is not known
    to be portable."""
    called = {
        node.operator for program in EXACT + CLOSE + DRAWN for node in ours(program).graph.nodes
    }
    called |= {node.operator for define in CONDITIONALS for node in made(Ours, define).graph.nodes}
    called |= {operators["dump_image"]}
    cases: list[Any] = [parameters.values[0] for parameters in CASES]
    called.update(cases)
    parts = {normalize_pixels, normalize_by_numbers, pad_channels}
    internal = {constant, fused, parameter, random_key, *parts}
    declared = {one for one in operators.values() if one.__module__.startswith("gradiva.")}
    called |= {operators[f"readers.{name}"] for name in READERS}
    called |= {operators[name] for name in (*VIDEOS, "readers.tfrecord")}
    # DALI has them on a GPU only, whatever its registry says.
    called |= {operators["experimental.readers.fits"], operators["readers.video"]}
    missing = declared - called - internal
    on_cpu = {_plain(name) for name in dali.backend.RegisteredCPUOps()}
    known = {one.name for one in missing if in_format(one)}
    assert {name for name in known if _plain(name) in on_cpu} == set()
    # Those that the format does not know either hold Python objects or are not DALI's.
    unknown = {one.name for one in missing if not holds_objects(one)}
    assert {name for name in unknown if _plain(name) in on_cpu} == set()


def test_the_format_knows_our_operators_and_arguments() -> None:
    """The names of operators and arguments, and the types of their values, in the registry."""
    kinds = {
        "int64": ("INT32", "INT64", "UINT32", "DATA_TYPE", "IMAGE_TYPE", "INTERP_TYPE",
                  "_INT32_VEC", "_INT64_VEC"),
        "float": ("FLOAT", "_FLOAT_VEC"),
        "bool": ("BOOL",),
        "string": ("STRING", "TENSOR_LAYOUT", "_STRING_VEC"),
    }  # fmt: skip
    from gradiva.capture.serialization.names import element_type

    checked = 0
    for one in operators.values():
        if one.schema is None or one.name in OURS_ALONE:
            continue
        registered = dali.backend.GetSchema(one.schema)
        for argument in one.arguments.values():
            if argument.name in (*one.unstored, "on_error"):
                assert not registered.HasArgument(argument.name), (one.name, argument.name)
                continue  # what the format has no place for is refused
            assert registered.HasArgument(argument.name), (one.name, argument.name)
            kind = registered.GetArgumentType(argument.name).name
            if argument.kind.name == "DTypes":
                assert kind == "_DATA_TYPE_VEC", (one.name, argument.name)
                continue
            assert kind in kinds[element_type(argument, argument.default)], argument
            checked += 1
    assert checked > 150


def test_the_names_of_schemas_are_registered() -> None:
    unknown = set()
    for one in operators.values():
        try:
            if one.schema:
                dali.backend.GetSchema(one.schema)
        except (RuntimeError, KeyError):
            unknown.add(one.name)
    assert unknown == OURS_ALONE


def test_arithmetic_is_found_by_every_name() -> None:
    assert all(one.schema is None for one in operators.values() if isinstance(one, Arithmetic))
    assert subscript.schema is None


def test_options_survive() -> None:
    pipe = dali.Pipeline(
        batch_size=5,
        num_threads=3,
        device_id=None,
        seed=77,
        prefetch_queue_depth=4,
        exec_async=False,
        exec_pipelined=False,
    )
    with pipe:
        pipe.set_outputs(fn.random.uniform())
    loaded = gradiva.Pipeline.deserialize(pipe.serialize())
    assert (loaded.batch_size, loaded.num_threads, loaded.seed) == (5, 3, 77)
    assert loaded.prefetch_queue_depth == 4
    assert not loaded.exec_async
    assert not loaded.exec_pipelined
    again = dali.Pipeline.deserialize(loaded.serialize())
    assert (again.max_batch_size, again.num_threads) == (5, 3)


def test_operators_that_gradiva_lacks_are_named() -> None:
    pipe = dali.Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipe:
        images, boxes, labels = (fn.external_source(name=name) for name in "abc")
        pipe.set_outputs(*fn.ssd_random_crop(images, boxes, labels))
    with pytest.raises(ValueError, match="`SSDRandomCrop`"):
        gradiva.Pipeline.deserialize(pipe.serialize())
