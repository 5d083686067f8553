"""`slice` in fused groups: where it stands, and that it changes no bit."""

from __future__ import annotations

from typing import Any

import pytest

from gradiva import fn
from gradiva.capture.compiler.fuse_chains import fuse, fuse_resize_views
from gradiva.capture.compiler.optimize import optimize
from tests.capture.compiler.passes import graph_of, images, prints, run, same_bits


def cut_and_brightened() -> Any:
    cut = fn.slice(
        images(),
        rel_start=fn.random.uniform(range=(0.1, 0.3), shape=2),
        rel_shape=(0.5, 0.5),
        axis_names="HW",
    )
    return fn.brightness(fn.flip(cut, horizontal=1), brightness=1.5)


def cut_of_a_resize() -> Any:
    small = fn.resize(images(), size=(9, 11))
    return fn.slice(small, start=2, shape=5, axis_names="W", out_of_bounds_policy="pad")


def test_fuse_fires() -> None:
    prints(
        fuse(graph_of(cut_and_brightened)),
        """
%1 = random_key(source=%0, number=0) : ? 0-D cpu
%2 = random.uniform(key=%1, range=(0.1, 0.3), shape=(2,), shared=False) : float32 1-D cpu
%3 = fused(%0, %2) : uint8 HWC cpu {
  .0 = slice(%0, rel_start=%2, axis_names='HW', rel_shape=(0.5, 0.5)) : uint8 HWC cpu
  .1 = flip(.0, horizontal=1) : uint8 HWC cpu
  .2 = brightness(.1, brightness=1.5) : uint8 HWC cpu
}
return %3
""",
    )


def test_a_slice_joins_a_resize() -> None:
    prints(
        fuse_resize_views(graph_of(cut_of_a_resize)),
        """
%1 = fused(%0) : uint8 HWC cpu {
  .0 = resize(%0, size=(9.0, 11.0)) : uint8 HWC cpu
  .1 = slice(.0, axis_names='W', out_of_bounds_policy='pad', shape=(5,), start=(2,)) : uint8 HWC cpu
}
return %1
""",
    )


@pytest.mark.parametrize("policy", ["pad", "trim_to_shape"])
def test_no_bit_changes(policy: str) -> None:
    def beyond() -> Any:
        small = fn.resize(images(), size=(9, 11))
        cut = fn.slice(
            small,
            start=(-2, 3),
            shape=(8, 20),
            axes=(0, 1),
            fill_values=7.0,
            out_of_bounds_policy=policy,
        )
        return fn.brightness(cut, brightness=fn.random.uniform(range=(0.5, 1.5)))

    def channels() -> Any:
        bright = fn.brightness(images(), brightness=1.2)
        return fn.slice(bright, start=1, shape=2, axis_names="C", out_of_bounds_policy=policy)

    for function in (beyond, cut_of_a_resize):
        same_bits(fuse_resize_views, function)
    same_bits(fuse, cut_and_brightened)
    for function in (beyond, channels, cut_and_brightened, cut_of_a_resize):
        graph = graph_of(function)
        assert run(optimize(graph)) == run(graph)
