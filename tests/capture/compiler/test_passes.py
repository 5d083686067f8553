"""Each compiler pass fires where it may, refuses where it must, and changes no bit: prune, fold,
decompose, hoist_views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.capture.compiler.constant_fold import fold
from gradiva.capture.compiler.dce import prune
from gradiva.capture.compiler.decompose import decompose
from gradiva.capture.compiler.hoist_views import hoist_views
from gradiva.capture.compiler.optimize import optimize
from tests.capture.compiler.passes import flags, graph_of, images, prints, refuses, run, same_bits

# prune


def wasteful() -> Any:
    source = images()
    fn.resize(source, size=(99, 99))
    return fn.flip(source)


@pytest.mark.tiny
def test_prune_fires() -> None:
    graph = graph_of(wasteful)
    prints(
        graph,
        """
%1 = resize(%0, size=(99.0, 99.0)) : uint8 HWC cpu
%2 = flip(%0) : uint8 HWC cpu
return %2
""",
    )
    prints(
        prune(graph),
        """
%1 = flip(%0) : uint8 HWC cpu
return %1
""",
    )


@pytest.mark.tiny
def test_prune_refuses() -> None:
    def preserved() -> Any:
        source = images()
        fn.resize(source, size=(99, 99), preserve=True)
        return source

    assert refuses(prune, preserved)


def test_prune_changes_no_bit() -> None:
    def with_unread_random_calls() -> Any:
        source = images()
        fn.random.uniform()
        fn.flip(source, horizontal=fn.random.coin_flip())
        return fn.brightness(source, brightness=fn.random.uniform(range=(0.5, 1.5)))

    same_bits(prune, with_unread_random_calls)


# fold


def arithmetic_of_constants() -> Any:
    two = fn.cast(np.array(2.5, np.float32), dtype="int32")
    return fn.cast(images(), dtype="uint8") * gradiva.math.sqrt(two + 1)


def test_fold_fires() -> None:
    graph = graph_of(arithmetic_of_constants)
    prints(
        graph,
        """
%0 = constant(layout='', value=float32(2.5)) : float32 0-D cpu
%1 = cast(%0, dtype=int32) : int32 0-D cpu
%3 = cast(%2, dtype=uint8) : uint8 HWC cpu
%4 = constant(layout='', value=int32(1)) : int32 0-D cpu
%5 = add(%1, %4) : int32 0-D cpu
%6 = math.sqrt(%5) : float32 0-D cpu
%7 = mul(%3, %6) : float32 HWC cpu
return %7
""",
    )
    prints(
        fold(graph),
        """
%1 = constant(layout='', value=float32(2.0)) : float32 0-D cpu
%2 = mul(%0, %1) : float32 HWC cpu
return %2
""",
    )


@pytest.mark.tiny
def test_fold_refuses() -> None:
    def random_value() -> Any:
        return images() * fn.random.uniform(seed=4)

    def converted() -> Any:
        return fn.cast(images(), dtype="int16")

    def kept() -> Any:
        return fn.cast(images(), dtype="uint8", preserve=True)

    for function in (random_value, converted, kept):
        assert refuses(fold, function)


def test_fold_changes_no_bit() -> None:
    same_bits(fold, arithmetic_of_constants)


# decompose


def normalized(**changes: Any) -> Callable[[], Any]:
    given: dict[str, Any] = {
        "crop": (6, 5),
        "mirror": True,
        "mean": [9.0, 8.0, 7.0],
        "std": [2.0],
        **changes,
    }

    def function() -> Any:
        chosen = {**given}
        if chosen["mirror"] is True:
            chosen["mirror"] = fn.external_source(source=flags, dtype="int32", ndim=0)
        return fn.crop_mirror_normalize(images(), **chosen)

    return function


@pytest.mark.tiny
def test_decompose_replaces_crop_mirror_normalize() -> None:
    graph = graph_of(normalized())
    prints(graph, """
%2 = crop_mirror_normalize(%1, mirror=%0, crop=(6.0, 5.0), mean=(9.0, 8.0, 7.0), std=(2.0,)) : float32 CHW cpu
return %2
""")  # fmt: skip # noqa: E501
    prints(
        decompose(graph),
        """
%2 = crop(%1, crop=(6.0, 5.0)) : uint8 HWC cpu
%3 = flip(%2, horizontal=%0) : uint8 HWC cpu
%4 = normalize_pixels(%3, mean=(9.0, 8.0, 7.0), std=(2.0,)) : float32 HWC cpu
%5 = transpose(%4, perm=(2, 0, 1)) : float32 CHW cpu
return %5
""",
    )


@pytest.mark.tiny
@pytest.mark.parametrize(
    "changes", [{"out_of_bounds_policy": "pad", "crop": (30, 30)}, {"preserve": True}], ids=str
)
def test_decompose_refuses(changes: dict[str, Any]) -> None:
    assert refuses(decompose, normalized(**changes))


@pytest.mark.full
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"output_layout": "HWC", "dtype": "uint8", "scale": 40.0, "shift": 100.0},
        {"crop": (30, 7), "out_of_bounds_policy": "trim_to_shape"},
        {"mirror": 0, "std": [3.0, 2.0, 1.0], "dtype": "float16"},
    ],
    ids=str,
)
def test_decompose_changes_no_bit(changes: dict[str, Any]) -> None:
    same_bits(decompose, normalized(**changes))


# hoist_views


def crop_after_brightness() -> Any:
    bright = fn.brightness(images(), brightness=fn.random.uniform(range=(0.5, 1.5)))
    cut = fn.crop(bright, crop=(6, 5), crop_pos_x=fn.random.uniform(range=(0, 1)))
    return fn.flip(cut, horizontal=fn.random.coin_flip())


@pytest.mark.tiny
def test_hoist_views_moves_a_crop_before_brightness() -> None:
    graph = graph_of(crop_after_brightness)
    prints(
        graph,
        """
%1 = random_key(source=%0, number=0) : ? 0-D cpu
%2 = random.uniform(key=%1, range=(0.5, 1.5), shared=False) : float32 0-D cpu
%3 = brightness(%0, brightness=%2) : uint8 HWC cpu
%4 = random_key(source=%0, number=1) : ? 0-D cpu
%5 = random.uniform(key=%4, range=(0.0, 1.0), shared=False) : float32 0-D cpu
%6 = crop(%3, crop_pos_x=%5, crop=(6.0, 5.0)) : uint8 HWC cpu
%7 = random_key(source=%0, number=2) : ? 0-D cpu
%8 = random.coin_flip(key=%7, shared=False) : int32 0-D cpu
%9 = flip(%6, horizontal=%8) : uint8 HWC cpu
return %9
""",
    )
    prints(
        hoist_views(graph),
        """
%1 = random_key(source=%0, number=0) : ? 0-D cpu
%2 = random.uniform(key=%1, range=(0.5, 1.5), shared=False) : float32 0-D cpu
%3 = random_key(source=%0, number=1) : ? 0-D cpu
%4 = random.uniform(key=%3, range=(0.0, 1.0), shared=False) : float32 0-D cpu
%5 = crop(%0, crop_pos_x=%4, crop=(6.0, 5.0)) : uint8 HWC cpu
%6 = random_key(source=%0, number=2) : ? 0-D cpu
%7 = random.coin_flip(key=%6, shared=False) : int32 0-D cpu
%8 = flip(%5, horizontal=%7) : uint8 HWC cpu
%9 = brightness(%8, brightness=%2) : uint8 HWC cpu
return %9
""",
    )


@pytest.mark.tiny
def test_hoist_views_refuses() -> None:
    def read_twice() -> Any:
        bright = fn.brightness(images(), brightness=1.5)
        return fn.crop(bright, crop=(6, 5)), bright

    def filled() -> Any:
        bright = fn.brightness(images(), brightness_shift=0.5)
        return fn.crop(bright, crop=(30, 30), out_of_bounds_policy="pad")

    def converted() -> Any:
        return fn.crop(fn.brightness(images(), brightness=1.5), crop=(6, 5), dtype="float32")

    def kept() -> Any:
        return fn.flip(fn.brightness(images(), brightness=1.5, preserve=True))

    def past_a_resize() -> Any:
        return fn.crop(fn.resize(images(), size=(9, 9)), crop=(6, 5))

    def past_other_neighbors() -> Any:
        return fn.flip(fn.gaussian_blur(images(), sigma=1.0))

    def past_other_channels() -> Any:
        gray = fn.color_space_conversion(
            images(), image_type=gradiva.types.RGB, output_type=gradiva.types.GRAY
        )
        return fn.crop(gray, crop=(6, 5), out_of_bounds_policy="trim_to_shape", fill_values=[3.0])

    for function in (
        read_twice,
        filled,
        converted,
        kept,
        past_a_resize,
        past_other_neighbors,
        past_other_channels,
    ):
        assert refuses(hoist_views, function), function


def test_hoist_views_changes_no_bit() -> None:
    same_bits(hoist_views, crop_after_brightness)


def test_hoist_views_gives_the_error_of_the_window() -> None:
    """A window that leaves the image is refused, moved or not, in the words of the user's call."""

    def function() -> Any:
        return fn.crop(fn.brightness(images(), brightness=1.5), crop=(6, 10))

    graph = graph_of(function)
    found = []
    for compiled in (graph, hoist_views(graph), optimize(graph)):
        with pytest.raises(gradiva.OperatorValueError) as caught:
            run(compiled)
        found.append(str(caught.value))
    assert found[0] == found[1] == found[2]
    assert "in sample 1" in found[0]
