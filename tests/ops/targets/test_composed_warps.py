"""Warps that follow each other, whose pixels are gathered once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, fn, pipeline_def
from gradiva.receipts import reproduce
from tests.needs import needs_opencv

from .graphs import f32, found, painted

pytestmark = needs_opencv  # warps and filters call it

full = pytest.mark.full
COUNT = 5
MATRIX = [1.05, 0.1, -6, -0.08, 0.95, 4]
TILT = [1.02, 0.03, -2, -0.01, 0.98, 1, 1e-4, 2e-4, 1]


def smooth(height: int, width: int, phase: float = 0.0) -> Any:
    """An image that linear interpolation changes little."""
    ys, xs = np.mgrid[:height, :width].astype(np.float32)
    waves = [np.sin(xs / 17 + phase), np.cos(ys / 13 - phase), np.sin((xs + ys) / 21)]
    return np.stack([127 + 90 * wave for wave in waves], axis=2).astype(np.uint8)


def pictures() -> list[Any]:
    return [smooth(90 + 4 * k, 120 - 3 * k, k / 3) for k in range(COUNT)]


def boxes() -> list[Any]:
    return [f32([[30, 30, 60, 50], [40, 20, 90, 70]])[: k % 3] for k in range(COUNT)]


def angles() -> list[Any]:
    return [f32(-30 + 13.0 * k) for k in range(COUNT)]


def steps(angle: Any, **more: Any) -> list[Any]:
    return [
        (gradiva.rotate, {"angle": angle, "fill_value": 0, "keep_size": True, **more}),
        gradiva.flip,
        (gradiva.crop, {"crop": (80, 90)}),
        (gradiva.warp_affine, {"matrix": MATRIX, "fill_value": 0, "size": (88, 96), **more}),
        (gradiva.experimental.warp_perspective, {"matrix": TILT, **more}),
        (gradiva.crop, {"crop": (70, 80)}),
    ]


def chain(images: Any, targets: Any, angle: Any, **more: Any) -> Any:
    return gradiva.transform(images, targets, ops=steps(angle, **more))


def batches() -> tuple[Any, Any, Any]:
    images = gradiva.batch(pictures(), layout="HWC")
    return images, gradiva.batch(boxes()), gradiva.batch(angles())


def held(outputs: Any) -> list[list[Any]]:
    return [[np.array(one) for one in output] for output in outputs]


def same(one: list[list[Any]], other: list[list[Any]]) -> None:
    for left, right in zip(one, other, strict=True):
        for x, y in zip(left, right, strict=True):
            np.testing.assert_array_equal(x, y)


def call(images: Any, box: Any, angle: Any, compose_warps: bool = False) -> Any:
    targets = gradiva.Targets(boxes=box)
    operators = steps(angle)
    images, targets = gradiva.transform(images, targets, ops=operators, compose_warps=compose_warps)
    return images, targets.boxes


@functools.cache
def composed() -> list[list[Any]]:
    with gradiva.step(0, COUNT):
        return held(call(*batches(), compose_warps=True))


@functools.cache
def one_by_one() -> list[list[Any]]:
    with gradiva.step(0, COUNT):
        return held(call(*batches()))


def piped(size: int, compose_warps: bool, runs: int = 1, checkpoint: Any = None) -> Any:
    @pipeline_def(
        batch_size=size, num_threads=2, enable_checkpointing=True, compose_warps=compose_warps
    )
    def build() -> Any:
        source = list(zip(pictures(), boxes(), angles(), strict=True))
        layout = ["HWC", "", ""]
        given = fn.external_source(
            source=source, num_outputs=3, batch=False, layout=layout, cycle="no"
        )
        return call(*given)

    pipe = build(checkpoint=checkpoint)
    made: list[list[Any]] = [[], []]
    for _ in range(runs):
        for whole, part in zip(made, held(pipe.run()), strict=True):
            whole.extend(part)
    return made, pipe


def test_within_a_bound_of_the_chain() -> None:
    """Of a smooth image, a value differs by 3 of 255, apart from the edges of what is seen, where a
    chain mixes with the fill value several times."""
    white = gradiva.batch([np.full_like(one, 255) for one in pictures()], layout="HWC")
    seen = [
        call(white, *batches()[1:], compose_warps=compose_warps)[0].arrays()
        for compose_warps in (False, True)
    ]
    for number, (one, other) in enumerate(zip(composed()[0], one_by_one()[0], strict=True)):
        assert one.shape == other.shape == (70, 80, 3)
        whole = (seen[0][number] == 255).all(axis=2) & (seen[1][number] == 255).all(axis=2)
        assert whole.mean() > 0.6
        assert np.abs(one.astype(int) - other)[whole].max() <= 3
        # What has been cut away on the way stays cut away.
        nothing = [(each[number] == 0).all(axis=2) for each in seen]
        assert (nothing[0] != nothing[1]).mean() < 0.03
    same([composed()[1]], [one_by_one()[1]])


def test_same_in_all_modes() -> None:
    expected = composed()
    assert any(not np.array_equal(x, y) for x, y in zip(expected[0], one_by_one()[0], strict=True))
    with gradiva.step(0, COUNT):
        same(expected, held(capture.compile(call, compose_warps=True)(*batches())))
    with gradiva.step(0, COUNT):
        same(one_by_one(), held(capture.compile(call)(*batches())))
    with gradiva.step(0, COUNT):
        explicit = functools.partial(call, compose_warps=True)
        same(expected, held(capture.compile(explicit)(*batches())))
    made, pipe = piped(COUNT, compose_warps=True)
    same(expected, made)
    text = str(pipe.explain())
    names = "rotate, flip, crop, warp_affine, experimental.warp_perspective"
    assert f"pixels: gathered once, along 5 operators: {names}" in text
    assert f"targets: boxes move once, along 6 operators: {names}, crop" in text
    made, pipe = piped(COUNT, compose_warps=False)
    same(one_by_one(), made)
    assert "gathered" not in str(pipe.explain())


def test_resumed_and_for_any_batch_size() -> None:
    first, pipe = piped(2, compose_warps=True)
    more, _ = piped(2, compose_warps=True, checkpoint=pipe.checkpoint())
    same([one[:4] for one in composed()], [a + b for a, b in zip(first, more, strict=True)])
    with pytest.raises(gradiva.OperatorValueError, match="compose_warps"):
        piped(2, compose_warps=False, checkpoint=pipe.checkpoint())


@full
def test_captured_loop(tmp_path: Any) -> None:
    cv2 = pytest.importorskip("cv2")
    for number, image in enumerate(pictures()):
        cv2.imwrite(str(tmp_path / f"{number}.png"), image[..., ::-1])
    runs = []
    for kept in (False, True):
        reader = gradiva.readers.File(
            file_root=str(tmp_path),
            files=[f"{number}.png" for number in range(COUNT)],
            labels=list(range(COUNT)),
        )
        made: list[list[Any]] = [[], []]
        for files, numbers in reader.next_epoch(batch_size=2, capture=kept):
            images = gradiva.decoders.image(files)
            angle = gradiva.cast(numbers.slice[0] * 13 - 30, dtype=gradiva.float32)
            box = gradiva.batch([f32([[30, 30, 60, 50]])] * len(images))
            outputs = held(call(images, box, angle, compose_warps=True))
            for whole, part in zip(made, outputs, strict=True):
                whole.extend(part)
        runs.append(made)
    same(*runs)


def test_painted_points() -> None:
    points = [np.random.default_rng(k).uniform((45, 38), (75, 58), (2, 2)) for k in range(COUNT)]
    images = gradiva.batch([painted(one, 96, 120) for one in points], layout="HWC")
    seen = [np.concatenate([one, np.full((2, 1), 2)], axis=1) for one in points]
    targets = gradiva.Targets(keypoints=gradiva.batch(seen))
    images, targets = gradiva.transform(
        images, targets, ops=steps(gradiva.batch(angles())), compose_warps=True
    )
    compared = 0
    for image, keypoints in zip(images, targets.keypoints, strict=True):
        mass, places = found(image)
        for number, (x, y, visible) in enumerate(np.asarray(keypoints).tolist()):
            if visible and 9 < x < 71 and 9 < y < 61 and mass[number] > 0.7:
                compared += 1
                assert np.hypot(*(places[number] - (x, y))) < 0.2
    assert compared >= 6


def test_nearest_masks() -> None:
    """A mask that was gathered as pixels is that of `Targets`, which are sampled once as well."""
    masks = (smooth(96, 120)[..., :1] > 127).astype(np.uint8)
    image = gradiva.as_tensor(masks, layout="HWC")
    nearest: dict[str, Any] = {"interp_type": "INTERP_NN"}
    image, targets = gradiva.transform(
        image,
        gradiva.Targets(masks=masks[..., 0]),
        ops=steps(17.0, **nearest)[:-1],
        compose_warps=True,
    )
    one, other = np.asarray(image)[..., 0], np.asarray(targets.masks)
    assert (one == other).mean() > 0.999
    again, _ = chain(gradiva.as_tensor(masks, layout="HWC"), (), 17.0, **nearest)
    union = (one[9:79, 8:88] | np.asarray(again)[..., 0]) != 0
    both = (one[9:79, 8:88] & np.asarray(again)[..., 0]) != 0
    assert both.sum() / union.sum() > 0.93


def count_of(ops: list[Any], image: Any = None) -> int:
    """How many operators were composed."""
    image = gradiva.as_tensor(smooth(40, 50), layout="HWC") if image is None else image

    @pipeline_def(batch_size=1, num_threads=1, compose_warps=True)
    def build() -> Any:
        given = fn.external_source(source=[[np.asarray(image)]], layout=image.layout)
        return gradiva.transform(given, (), ops=ops)[0]

    text = str(build().explain())
    return int(text.partition("along ")[2].partition(" ")[0] or 0) if "gathered" in text else 0


def test_what_is_composed() -> None:
    turn = (gradiva.rotate, {"angle": 5.0, "fill_value": 0})
    assert count_of([turn, turn]) == 2
    assert count_of([gradiva.flip, turn, gradiva.flip, turn, gradiva.flip]) == 3
    assert count_of([turn]) == count_of([gradiva.flip, turn, gradiva.flip]) == 0
    black = (gradiva.affine, {"angle": 3.0})
    assert count_of([turn, black]) == 2
    nearest = (gradiva.rotate, {"angle": 5.0, "fill_value": 0, "interp_type": "INTERP_NN"})
    gray = (gradiva.rotate, {"angle": 5.0, "fill_value": 128})
    border = (gradiva.rotate, {"angle": 5.0})
    floats = (gradiva.rotate, {"angle": 5.0, "fill_value": 0, "dtype": gradiva.float32})
    padded = (gradiva.crop, {"crop": (90, 90), "out_of_bounds_policy": "pad"})
    for other in (nearest, gray, border, floats, gradiva.equalize, padded):
        assert count_of([turn, other, turn]) == 0
    planes = gradiva.as_tensor(smooth(40, 50).transpose(2, 0, 1).copy(), layout="CHW")
    assert count_of([black, black], planes) == 0
    frames = gradiva.as_tensor(np.stack([smooth(40, 50)] * 2), layout="FHWC")
    assert count_of([turn, turn], frames) == 2


def test_sequences_and_empty_batches() -> None:
    frames = gradiva.as_tensor(np.stack([smooth(40, 50), smooth(40, 50, 1)]), layout="FHWC")
    turn = (gradiva.rotate, {"angle": 5.0, "fill_value": 0, "keep_size": True})
    both, _ = gradiva.transform(frames, (), ops=[turn, turn], compose_warps=True)
    for number, frame in enumerate(np.asarray(frames)):
        image = gradiva.as_tensor(frame, layout="HWC")
        one, _ = gradiva.transform(image, (), ops=[turn, turn], compose_warps=True)
        np.testing.assert_array_equal(np.asarray(both)[number], np.asarray(one))
    none = gradiva.batch(np.empty((0, 4, 4, 3), np.uint8), layout="HWC")
    empty, _ = gradiva.transform(none, (), ops=[turn, turn], compose_warps=True)
    assert len(empty) == 0


def test_wrong_option() -> None:
    with pytest.raises(gradiva.OperatorTypeError, match="compose_warps"):
        gradiva.Pipeline(batch_size=1, compose_warps="yes")  # type: ignore[arg-type]


@pipeline_def(batch_size=COUNT, num_threads=2, compose_warps=True, enable_conditionals=True)
def _branches() -> Any:
    source = [(pictures(), angles(), [np.bool_(k % 2) for k in range(COUNT)])]
    images, angle, coin = fn.external_source(
        source=source, num_outputs=3, layout=["HWC", "", ""], cycle=True
    )
    first = fn.rotate(images, angle=angle, keep_size=True, fill_value=0)
    if coin:
        made = fn.rotate(first, angle=angle, keep_size=True, fill_value=0)
        made = fn.warp_affine(made, matrix=MATRIX, fill_value=0)
    else:
        made = first
    return made


def test_conditions() -> None:
    """Within a branch warps are composed, and not with what is before the condition."""
    pipe = _branches()
    (made,) = held(pipe.run())
    assert "along 2 operators: rotate, warp_affine" in str(pipe.explain())
    given: dict[str, Any] = {"keep_size": True, "fill_value": 0}
    for k, (picture, angle) in enumerate(zip(pictures(), angles(), strict=True)):
        image: Any = gradiva.as_tensor(picture, layout="HWC")
        image = gradiva.rotate(image, angle=angle, **given)
        if k % 2:
            ops = [
                (gradiva.rotate, {"angle": angle, **given}),
                (gradiva.warp_affine, {"matrix": MATRIX, "fill_value": 0}),
            ]
            image, _ = gradiva.transform(image, (), ops=ops, compose_warps=True)
        np.testing.assert_array_equal(np.asarray(image), made[k])


def test_what_is_read_in_between_is_not_composed() -> None:
    read: list[Any] = []

    @functools.partial(capture.compile, compose_warps=True)
    def twice(image: Any) -> Any:
        first = gradiva.rotate(image, angle=5.0, fill_value=0)
        read.append(np.array(first))
        return gradiva.rotate(first, angle=5.0, fill_value=0)

    image = gradiva.as_tensor(smooth(40, 50), layout="HWC")
    made = np.asarray(twice(image))
    first = gradiva.rotate(image, angle=5.0, fill_value=0)
    np.testing.assert_array_equal(read[0], np.asarray(first))
    np.testing.assert_array_equal(made, np.asarray(gradiva.rotate(first, angle=5.0, fill_value=0)))


def test_receipts_tell_composed_warps_apart() -> None:
    """A batch is made again by a pipeline that composes, too."""

    def build(compose_warps: bool) -> Any:
        @pipeline_def(
            batch_size=2, num_threads=1, seed=1, compose_warps=compose_warps, with_receipt=True
        )
        def define() -> Any:
            source = list(zip(pictures(), boxes(), angles(), strict=True))
            layout = ["HWC", "", ""]
            given = fn.external_source(source=source, num_outputs=3, batch=False, layout=layout)
            return call(*given)

        return define()

    pipe = build(True)
    pipe.run()
    receipt = pipe.receipt()
    assert reproduce(receipt, build(True)).same
    found = reproduce(receipt, build(False))
    assert not found.same
    assert "graph" in str(found)
