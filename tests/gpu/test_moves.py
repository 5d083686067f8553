"""Operators that move elements, where their own cases are too small for their GPU kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
import gradiva.eager.values.indexing
from gradiva.eager.cuda.launch import Launch
from gradiva.eager.execution.gpu_copies import fill_launch, merged_axes, piece_launches
from gradiva.eager.operators.cases import Case
from gradiva.eager.operators.operator import operators
from gradiva.eager.values.batch import Batch
from gradiva.ops.math.branches import merge_batches, merge_launches

from .harness import Planned, all_launches, fresh_like, planned, require_equal
from .shim import COMPILER, NO_COMPILER, run_launches

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)


def drawn(shapes: Sequence[Sequence[int]], dtype: Any = np.uint8, layout: str = "") -> Batch:
    """Samples of these shapes, of random bytes."""
    generator = np.random.default_rng(len(shapes))
    made = []
    for shape in shapes:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        made.append(generator.integers(0, 256, size, np.uint8).view(dtype).reshape(shape))
    return gradiva.as_batch(made, layout=layout)


def of(name: str, inputs: Sequence[Batch], **arguments: Any) -> list[Planned]:
    """One call, as it is and as a GPU would do it."""
    return planned(operators[name], [Case(repr(arguments), tuple(inputs), arguments)])


def run(found: Sequence[Planned], folder: Path) -> None:
    run_launches(all_launches(found), folder)
    for one in found:
        require_equal(one)


def kernels(found: Sequence[Planned]) -> set[str]:
    return {launch.unit.kernel for launch in all_launches(found)}


RAGGED = [(40, 50, 3), (0, 7, 3), (1, 1, 3), (33, 100, 3)]


@pytest.mark.full
def test_transposed_by_tiles(tmp_path: Path) -> None:
    """Square planes, narrow ones in both directions, axes around them, edges of tiles."""
    found = of("transpose", [drawn(RAGGED)], perm=[2, 0, 1])
    found += of("transpose", [drawn(RAGGED, np.uint16)], perm=[1, 0, 2])
    found += of("transpose", [drawn([(3, 70, 50), (3, 1, 2)], np.uint32)], perm=[1, 2, 0])
    found += of("transpose", [drawn([(64, 65), (33, 31), (0, 5), (1, 90)], np.uint64)])
    found += of("transpose", [drawn([(64, 65), (130, 127), (2, 5000)], np.int16)])
    found += of("transpose", [drawn([(2, 3, 40, 17, 2)] * 2, np.float16)], perm=[4, 0, 3, 2, 1])
    found += of("transpose", [drawn([(2, 600), (600, 2)], np.float32)])
    found += of("transpose", [drawn([(3, 20, 30)] * 3, bool)], perm=[0, 2, 1])
    assert kernels(found[:1]) == kernels(found[3:4]) == {"tiles"}
    run(found, tmp_path)


def test_transposed_without_tiles(tmp_path: Path) -> None:
    """Where neighbors stay neighbors, where planes are tiny, and of many axes."""
    found = of("transpose", [drawn(RAGGED, np.float32)], perm=[1, 0, 2])
    found += of("transpose", [drawn([(900, 2, 3)])], perm=[0, 2, 1])
    order = [7, 5, 3, 1, 6, 4, 2, 0]
    found += of("transpose", [drawn([(2, 3, 2, 1, 2, 3, 2, 2)] * 2, np.int16)], perm=order)
    assert kernels(found) == {"move"}
    run(found, tmp_path)


def test_joined(tmp_path: Path) -> None:
    """Long runs, short ones, none; more than eight inputs; all of one row."""
    one, two = drawn(RAGGED), drawn([(40, 50, 1), (0, 7, 1), (1, 1, 1), (33, 100, 1)])
    tall = drawn([(7, 50, 3), (2, 7, 3), (0, 1, 3), (100, 100, 3)])
    found = of("cat", [one, two, one], axis=2)
    found += of("cat", [tall, one, tall])
    found += of("cat", [two] * 19, axis=1)
    found += of("cat", [drawn([(0, 3), (5, 0)], np.int64), drawn([(2, 3), (1, 0)], np.int64)])
    found += of("stack", [one] * 9, axis=3)
    found += of("stack", [one, one], axis=1)
    found += of("stack", [drawn([(17,), (3,)], np.float64)] * 11)
    assert kernels(found) == {"join", "pieces"}
    assert [len(one.launches) for one in found] == [1, 1, 3, 1, 2, 1, 2]
    run(found, tmp_path)


def test_parts(tmp_path: Path) -> None:
    found = []
    for text in ("[..., 0]", "[::-2, 1::3]", "[-1:, ..., ::-1]", "[:, None, 3:2]", "[::1 << 61]"):
        ranges, _ = gradiva.eager.values.indexing.parse(eval(f"np.s_{text}"))
        images = drawn([(40, 50, 3), (2, 7, 3), (33, 100, 3)], np.int32)
        found += of("subscript", [images], ranges=ranges)
    run(found, tmp_path)


def test_frames_and_copies(tmp_path: Path) -> None:
    """Frames of odd sizes: places in memory suit words of any length, or none."""
    for dtype, size in ((np.uint8, 5), (np.uint16, 7), (np.float32, 3), (np.uint8, 9001)):
        videos = drawn([(4, size), (9, size), (1, size)], dtype)
        found = of("sequence_rearrange", [videos], new_order=[0, 0])
        found += of("copy", [videos])
        found += of("element_extract", [videos], element_map=[0, 0])
        equal = drawn([(4, size)] * 3, dtype)
        found += of("sequence_rearrange", [equal], new_order=[3, 1, 2, 0, 1])
        found += of("element_extract", [equal], element_map=[3, 0, 1])
        found += of("copy", [equal])
        assert kernels(found) == {"pieces"}
        assert all(launch.blocks == 1 for launch in found[-1].launches[:1] if size < 9000)
        run(found, tmp_path)


def test_filled(tmp_path: Path) -> None:
    for dtype in (gradiva.uint8, gradiva.float16, gradiva.int32, gradiva.float64):
        shapes = np.array([[41, 507], [0, 3], [1, 1]])
        found = of("ones", [], shape=shapes, dtype=dtype, batch_size=3)
        found += of("ones", [], shape=[3], dtype=dtype, batch_size=5)
        found += of("zeros", [], shape=[41, 1000], dtype=dtype, batch_size=2)
        run(found, tmp_path)
    like = drawn([(40, 50, 3), (1, 2, 3)], np.int16)
    found = of("full_like", [like, drawn([(3,), (3,)], np.uint8)])
    found += of("full_like", [like, drawn([(40, 1, 1), (1, 2, 1)], np.uint16)])
    found += of("full", [drawn([(50, 1), (50, 1)], np.float32)], shape=[40, 50, 3])
    run(found, tmp_path)


def test_bfloat16(tmp_path: Path) -> None:
    """Bytes move whatever they mean."""
    images = gradiva.cast(drawn([(40, 50, 3), (1, 2, 3)]), dtype=gradiva.bfloat16)
    found = of("ones_like", [images])
    found += of("copy", [images])
    found += of("transpose", [images], perm=[2, 0, 1])
    found += of("cat", [images, images], axis=2)
    found += of("stack", [images, images])
    found += of("cast_like", [images, images])
    run(found, tmp_path)


def test_bytes_outside_of_pieces_stay(tmp_path: Path) -> None:
    """Of all lengths, at all distances from a multiple of 16."""
    source = np.random.default_rng(0).integers(0, 256, 1000).astype(np.uint8)
    sizes = np.array([0, 1, 2, 15, 16, 17, 31, 33, 64])
    for here in (0, 1, 2, 4, 8):
        starts = 64 + sizes.cumsum() - sizes + 3 * np.arange(9)
        target, filled = np.full(1000, 7, np.uint8), np.full(1000, 7, np.uint8)
        launches: list[Launch] = piece_launches([source], target, (0, starts + here, starts, sizes))
        launches.append(fill_launch(filled, starts, sizes, np.uint8(9)))
        run_launches(launches, tmp_path)
        expected, nines = np.full(1000, 7, np.uint8), np.full(1000, 7, np.uint8)
        for start, size in zip(starts, sizes, strict=True):
            expected[start : start + size] = source[start + here : start + here + size]
            nines[start : start + size] = 9
        np.testing.assert_array_equal(target, expected)
        np.testing.assert_array_equal(filled, nines)


def test_pieces_that_follow_each_other_are_one() -> None:
    slab, target = np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    starts = np.array([0, 8, 16, 40])
    (launch,) = piece_launches([slab], target, (0, starts, starts, 8))
    assert launch.blocks == 2
    np.testing.assert_array_equal(launch.arguments[9], [[0, 0, 0, 24], [0, 40, 40, 8]])


def test_axes_are_merged() -> None:
    """As far as all samples allow; steps along an axis of extent 1 do not matter."""
    extents, steps = merged_axes(np.array([[4, 5, 3], [1, 7, 3]]), np.array([[15, 3, 1]] * 2))
    np.testing.assert_array_equal(extents, [[60], [21]])
    np.testing.assert_array_equal(steps, [[1], [1]])
    extents, steps = merged_axes(np.array([[4, 1, 3]]), np.array([[1, 9, 4]]))
    np.testing.assert_array_equal(extents, [[4, 3]])
    np.testing.assert_array_equal(steps, [[1, 4]])
    extents, steps = merged_axes(np.zeros((2, 0), np.int64), np.zeros((2, 0), np.int64))
    assert extents.shape == steps.shape == (2, 1)


@pytest.mark.full
def test_regions(tmp_path: Path) -> None:
    """Regions that overlap, of several blocks; more than eight inputs; one value and several."""
    images = drawn([(40, 50, 3), (33, 31, 3)], np.float32, "HWC")
    corners = {"anchor": (1, 2, 3, 0), "shape": (30, 20, 7, 99), "axes": (0, 1)}
    found = of("erase", [images], **corners, fill_value=(1, 2, 3))
    found += of("erase", [images], **corners, fill_value=7)
    found += of("random_erasing", [images], probability=1.0, seed=1, fill_value=(1, 2, 3))
    found += of("random_erasing", [images], probability=0.5, seed=1, fill="color")
    found += of("erase", [drawn([(3, 2, 9, 40, 30)] * 2, np.uint16)], anchor=1, shape=1, axes=2)
    canvas = {"output_size": (60, 70), "dtype": gradiva.int16}
    places = {"in_anchors": [0, 1, 2, 3], "shapes": [25, 25, 20, 25], "out_anchors": [9, 8, 20, 3]}
    several = [np.array([1, 0]), np.array([0, 0])]
    bytes_ = drawn([(40, 50, 3), (33, 31, 3)], layout="HWC")
    found += of("multi_paste", [bytes_], in_ids=several, **canvas, **places)
    found += of("multi_paste", [images] * 2, output_size=(60, 70), shapes=[30, 31, 8, 9])
    small = [drawn([(3 * k, 2 * k, 1)] * 3, layout="HWC") for k in range(12)]
    found += of("multi_paste", small, output_size=(40, 30))
    assert len(found[-1].launches) == 2
    turned = {"angle": 0.3, "tile": 7, "shift_x": 2.5}
    for layout, shapes in (("HWC", RAGGED), ("FCHW", [(2, 3, 40, 31), (1, 1, 50, 60)])):
        found += of("grid_mask", [drawn(shapes, np.float64, layout)], **turned)
    run(found, tmp_path)


@pytest.mark.full
def test_points_and_boxes(tmp_path: Path) -> None:
    """Of several blocks; of numbers that are none, and of no extent."""
    generator = np.random.default_rng(0)
    points = [generator.normal(size=(count, 3)).astype(np.float32) for count in (700, 0, 5)]
    found = of("coord_flip", [gradiva.as_batch(points)], flip_x=0, flip_z=[1, 0, 1], layout="zyx")
    matrix = generator.normal(size=(2, 3)).astype(np.float32).ravel().tolist()
    found += of("coord_transform", [gradiva.as_batch(points)], M=matrix, T=(0.5, 3.0))
    whole = [(100 * point).astype(np.int16) for point in points]
    found += of("coord_transform", [gradiva.as_batch(whole)], MT=2.0, dtype=gradiva.int16)
    boxes = [generator.uniform(size=(count, 4)).astype(np.float32) for count in (600, 0, 40)]
    boxes[2][3], boxes[2][4], boxes[2][5] = np.nan, np.inf, boxes[2][6]
    found += of("bb_flip", [gradiva.as_batch(boxes)], ltrb=True, vertical=[1, 0, 1])
    found += of("bb_flip", [gradiva.as_batch([one.ravel() for one in boxes])], horizontal=[1, 0, 1])
    for one in boxes[0], boxes[2][:3], boxes[2][7:]:
        one[:, 2:] += one[:, :2]
    boxes[0] = boxes[0][:20]
    labels = [generator.integers(1, 90, len(one)).astype(np.int32) for one in boxes]
    anchors = generator.uniform(size=(1100, 4)).astype(np.float32)
    anchors[:1090, 2:] += anchors[:1090, :2]
    anchors[7] = anchors[3]
    given = {"anchors": anchors.ravel().tolist(), "criteria": 0.3, "scale": 300.0}
    pair = gradiva.as_batch(boxes), gradiva.as_batch(labels)
    found += of("box_encoder", pair, **given)
    found += of("box_encoder", pair, **given, offset=True, stds=(0.1, 0.1, 0.2, 0.2))
    run(found, tmp_path)


def test_branches_are_merged(tmp_path: Path) -> None:
    """As on the CPU, for any branches."""
    true, false = drawn([(3, 5), (40, 50)], np.int16), drawn([(2, 2), (0, 3), (33, 3)], np.int16)
    mask = np.array([False, True, True, False, False])

    def each(copy: Callable[[int], None], made: Batch) -> None:
        for sample in range(len(made)):
            copy(sample)

    merged = merge_batches(true, false, mask, true.type, each)
    ours = fresh_like(merged)
    run_launches(merge_launches(true, false, mask, ours), tmp_path)
    for one, other in zip(ours.arrays(), merged.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.full
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(
    "tried",
    [
        test_transposed_by_tiles,
        test_transposed_without_tiles,
        test_joined,
        test_parts,
        test_frames_and_copies,
        test_filled,
        test_bytes_outside_of_pieces_stay,
        test_regions,
        test_points_and_boxes,
    ],
)
def test_sanitized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried: Any, backward: bool
) -> None:
    """The same under AddressSanitizer and UBSan, in both orders of threads."""
    strict = partial(run_launches, backward=backward, sanitize=True)
    monkeypatch.setattr(f"{__name__}.run_launches", strict)
    tried(tmp_path)
