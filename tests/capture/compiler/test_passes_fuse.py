"""Each compiler pass fires where it may, refuses where it must, and changes no bit: region, fuse;
and all passes together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva import fn
from gradiva.capture.compiler.fuse_chains import fuse, fuse_resize_views
from gradiva.capture.compiler.optimize import PASSES, optimize
from tests.capture.compiler.passes import feed, graph_of, images, prints, refuses, run, same_bits

# fuse_resize_views


def cut_of_a_resize() -> Any:
    small = fn.resize(images(), resize_shorter=fn.random.uniform(range=(9, 14)))
    cut = fn.crop(small, crop=(6, 5), crop_pos_y=fn.random.uniform(range=(0, 1)))
    return fn.flip(cut, horizontal=fn.random.coin_flip(), vertical=1)


def test_a_crop_and_a_flip_join_a_resize() -> None:
    graph = graph_of(cut_of_a_resize)
    prints(
        graph,
        """
%1 = random_key(source=%0, number=0) : ? 0-D cpu
%2 = random.uniform(key=%1, range=(9.0, 14.0), shared=False) : float32 0-D cpu
%3 = resize(%0, resize_shorter=%2) : uint8 HWC cpu
%4 = random_key(source=%0, number=1) : ? 0-D cpu
%5 = random.uniform(key=%4, range=(0.0, 1.0), shared=False) : float32 0-D cpu
%6 = crop(%3, crop_pos_y=%5, crop=(6.0, 5.0)) : uint8 HWC cpu
%7 = random_key(source=%0, number=2) : ? 0-D cpu
%8 = random.coin_flip(key=%7, shared=False) : int32 0-D cpu
%9 = flip(%6, horizontal=%8, vertical=1) : uint8 HWC cpu
return %9
""",
    )
    prints(
        fuse_resize_views(graph),
        """
%1 = random_key(source=%0, number=0) : ? 0-D cpu
%2 = random.uniform(key=%1, range=(9.0, 14.0), shared=False) : float32 0-D cpu
%3 = random_key(source=%0, number=1) : ? 0-D cpu
%4 = random.uniform(key=%3, range=(0.0, 1.0), shared=False) : float32 0-D cpu
%5 = random_key(source=%0, number=2) : ? 0-D cpu
%6 = random.coin_flip(key=%5, shared=False) : int32 0-D cpu
%7 = fused(%0, %2, %4, %6) : uint8 HWC cpu {
  .0 = resize(%0, resize_shorter=%2) : uint8 HWC cpu
  .1 = crop(.0, crop_pos_y=%4, crop=(6.0, 5.0)) : uint8 HWC cpu
  .2 = flip(.1, horizontal=%6, vertical=1) : uint8 HWC cpu
}
return %7
""",
    )


def test_fuse_resize_views_refuses() -> None:
    def read_twice() -> Any:
        small = fn.resize(images(), size=(9, 9))
        return fn.crop(small, crop=(6, 5)), small

    def kept() -> Any:
        small = fn.resize(images(), size=(9, 9), preserve=True)
        return fn.crop(small, crop=(6, 5))

    def kept_window() -> Any:
        return fn.crop(fn.resize(images(), size=(9, 9)), crop=(6, 5), preserve=True)

    def twice_resized() -> Any:
        return fn.resize(fn.resize(images(), size=(9, 9)), size=(5, 5))

    def other_values() -> Any:
        return fn.brightness(fn.resize(images(), size=(9, 9)), brightness=1.5)

    for function in (read_twice, kept, kept_window, twice_resized, other_values):
        assert refuses(fuse_resize_views, function), function


@pytest.mark.parametrize("policy", ["error", "pad", "trim_to_shape"])
def test_fuse_resize_views_changes_no_bit(policy: str) -> None:
    def function() -> Any:
        small = fn.resize(images(), size=(9, 11))
        large = (6, 5) if policy == "error" else (12, 7)
        cut = fn.crop(small, crop=large, out_of_bounds_policy=policy, fill_values=3.0)
        return fn.flip(cut, horizontal=fn.random.coin_flip())

    same_bits(fuse_resize_views, function)
    same_bits(fuse_resize_views, cut_of_a_resize)


# fuse


def chain() -> Any:
    cut = fn.crop(images(), crop=(6, 5))
    mirrored = fn.flip(cut, horizontal=fn.random.coin_flip())
    bright = fn.color_twist(mirrored, hue=30.0, brightness=fn.random.uniform(range=(0.5, 1.5)))
    return fn.transpose(fn.brightness(bright, brightness=1.5, dtype="float32"), perm=(2, 0, 1))


def test_fuse_fires() -> None:
    graph = graph_of(chain)
    prints(
        graph,
        """
%1 = crop(%0, crop=(6.0, 5.0)) : uint8 HWC cpu
%2 = random_key(source=%0, number=0) : ? 0-D cpu
%3 = random.coin_flip(key=%2, shared=False) : int32 0-D cpu
%4 = flip(%1, horizontal=%3) : uint8 HWC cpu
%5 = random_key(source=%0, number=1) : ? 0-D cpu
%6 = random.uniform(key=%5, range=(0.5, 1.5), shared=False) : float32 0-D cpu
%7 = color_twist(%4, brightness=%6, hue=30.0) : uint8 HWC cpu
%8 = brightness(%7, brightness=1.5, dtype=float32) : float32 HWC cpu
%9 = transpose(%8, perm=(2, 0, 1)) : float32 CHW cpu
return %9
""",
    )
    prints(
        fuse(graph),
        """
%1 = random_key(source=%0, number=0) : ? 0-D cpu
%2 = random.coin_flip(key=%1, shared=False) : int32 0-D cpu
%3 = random_key(source=%0, number=1) : ? 0-D cpu
%4 = random.uniform(key=%3, range=(0.5, 1.5), shared=False) : float32 0-D cpu
%5 = fused(%0, %2, %4) : float32 CHW cpu {
  .0 = crop(%0, crop=(6.0, 5.0)) : uint8 HWC cpu
  .1 = flip(.0, horizontal=%2) : uint8 HWC cpu
  .2 = color_twist(.1, brightness=%4, hue=30.0) : uint8 HWC cpu
  .3 = brightness(.2, brightness=1.5, dtype=float32) : float32 HWC cpu
  .4 = transpose(.3, perm=(2, 0, 1)) : float32 CHW cpu
}
return %5
""",
    )


def test_fuse_refuses() -> None:
    def read_twice() -> Any:
        bright = fn.brightness(images(), brightness=1.5)
        return fn.contrast(bright, contrast=1.5), bright

    def read_twice_by_one() -> Any:
        bright = fn.brightness(images(), brightness=1.5)
        return bright + bright

    def kept() -> Any:
        return fn.contrast(fn.brightness(images(), brightness=1.5, preserve=True), contrast=1.5)

    def window_after_values() -> Any:
        return fn.resize(fn.brightness(images(), brightness=1.5), size=(5, 5))

    def blurred() -> Any:
        return fn.brightness(fn.gaussian_blur(images(), sigma=1.0), brightness=1.5)

    for function in (read_twice, read_twice_by_one, kept, window_after_values, blurred):
        assert refuses(fuse, function), function


def test_fuse_changes_no_bit() -> None:
    same_bits(fuse, chain)


def test_mixed_planes_are_not_fused_by_the_kernels() -> None:
    """A matrix on the channels needs all of them; images of planes pass one plane at a time."""

    def planes() -> Any:
        moved = fn.transpose(images(), perm=(2, 0, 1))
        return fn.flip(fn.hue(moved, hue=50.0, dtype="float32"), horizontal=1)

    graph = graph_of(planes)
    compiled = optimize(graph, verify=True)
    assert run(compiled) == run(graph)


# All passes.


@pytest.mark.full
def test_each_stage_is_printed(tmp_path: Path) -> None:
    """GRADIVA_PRINT_GRAPH=1 prints the graph as recorded and after each pass."""
    script = tmp_path / "script.py"
    script.write_text(
        "import gradiva, numpy as np\n"
        "from gradiva import fn\n"
        "@gradiva.pipeline_def(batch_size=1, num_threads=1)\n"
        "def pipe():\n"
        "    x = fn.external_source(lambda: np.zeros((1, 4, 4, 3), np.uint8), layout='HWC')\n"
        "    return fn.brightness(fn.flip(x), brightness=1.5)\n"
        "pipe().build()\n"
    )
    root = str(Path(__file__).parents[3])
    for wanted in ("1", "0"):
        environment = {**os.environ, "GRADIVA_PRINT_GRAPH": wanted, "PYTHONPATH": root}
        done = subprocess.run(
            [sys.executable, str(script)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        titles = [line for line in done.stderr.splitlines() if line.startswith("# ")]
        stages = ["# recorded", *(f"# after {apply.__name__}" for apply in PASSES)]
        assert titles == (stages if wanted == "1" else [])
        if wanted == "1":
            last = done.stderr.split("# after fuse\n")[1]
            assert "fused(" in last
            assert done.stderr.count("return %") == len(stages)


def wrong_window(source: Any) -> Any:
    small = gradiva.flip(source, horizontal=1)
    cut = gradiva.crop(small, crop=(6, 10))
    return gradiva.brightness(cut, brightness=1.5)


def test_an_error_inside_a_group_is_that_of_the_user() -> None:
    """The operator, the sample and the user's own line, as in dynamic mode."""
    with pytest.raises(gradiva.OperatorValueError) as eager:
        wrong_window(gradiva.as_batch(feed(), layout="HWC"))
    graph = optimize(graph_of(lambda: wrong_window(images())))
    assert any("crop" in [member.operator.name for member in node.members] for node in graph)
    with pytest.raises(gradiva.OperatorValueError) as fused:
        run(graph)
    assert str(fused.value) == str(eager.value)
    assert fused.value.operator == "crop"
    assert fused.value.sample == eager.value.sample == 1
    assert fused.value.location is not None
    assert fused.value.location.text == "cut = gradiva.crop(small, crop=(6, 10))"


def test_an_error_of_the_parameters_is_that_of_the_user() -> None:
    """It is found when the kernels are made ready, not by a shape rule."""

    def function(source: Any) -> Any:
        bright = gradiva.brightness(gradiva.flip(source), brightness=1.5)
        return gradiva.crop_mirror_normalize(bright, mean=[1.0] * 5)

    with pytest.raises(gradiva.OperatorValueError) as eager:
        function(gradiva.as_batch(feed(), layout="HWC"))
    with pytest.raises(gradiva.OperatorValueError) as fused:
        run(optimize(graph_of(lambda: function(images()))))
    assert str(fused.value) == str(eager.value)


def test_an_error_in_a_decomposed_call_names_the_call_of_the_user() -> None:
    def function(source: Any) -> Any:
        return gradiva.crop_mirror_normalize(source, crop=(6, 10), mirror=1, mean=[9.0])

    with pytest.raises(gradiva.OperatorValueError) as eager:
        function(gradiva.as_batch(feed(), layout="HWC"))
    with pytest.raises(gradiva.OperatorValueError) as fused:
        run(optimize(graph_of(lambda: function(images()))))
    assert str(fused.value) == str(eager.value)
    assert fused.value.operator == "crop_mirror_normalize"
