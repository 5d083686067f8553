"""`patches`: the values by NumPy, in every mode; `pixel_values`: one array without a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, fn
from tests.tiers import examples

pytestmark = pytest.mark.core

Array = np.ndarray[Any, Any]
DTYPES = (np.uint8, np.int16, np.float16, np.float32, np.float64)


def noise(seed: int, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def planes_of(sample: Array, layout: str) -> Array:
    """(frames, channels, height, width)."""
    if "C" not in layout:
        sample, layout = sample[..., np.newaxis], f"{layout}C"
    if "F" not in layout:
        sample, layout = sample[np.newaxis], f"F{layout}"
    return sample.transpose([layout.index(letter) for letter in "FCHW"])


def by_numpy(
    sample: Array, layout: str, patch: int, merge: int, temporal: int, order: str
) -> tuple[Array, list[int]]:
    """The patches of a sample and its grid: the nine axes of all values, in another order."""
    frames = planes_of(sample, layout)
    missing = -len(frames) % temporal
    if missing:
        frames = np.concatenate([frames, np.repeat(frames[-1:], missing, axis=0)])
    count, channels, height, width = frames.shape
    t, h, w = count // temporal, height // patch, width // patch
    values = channels * temporal * patch * patch
    parts = (t, temporal, channels, h // merge, merge, patch, w // merge, merge, patch)
    if order == "flat":
        rows = frames.reshape(parts).transpose(0, 3, 6, 4, 7, 2, 1, 5, 8)
        return rows.reshape(t * h * w, values), [t, h, w]
    cells = frames.reshape(t, temporal, channels, h, patch, w, patch)
    return cells.transpose(0, 3, 5, 2, 1, 4, 6).reshape(t, h, w, values), [t, h, w]


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[Array], str, dict[str, Any]]:
    patch, merge = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    layout = draw(st.sampled_from(("HWC", "CHW", "HW", "FHWC", "FCHW", "FHW")))
    channels, dtype = draw(st.integers(1, 4)), draw(st.sampled_from(DTYPES))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    samples = []
    for _ in range(draw(st.integers(1, 4))):
        sides = {"C": channels, "F": draw(st.integers(1, 5))}
        for side in "HW":
            sides[side] = patch * merge * draw(st.integers(0 if side == "H" else 1, 3))
        shape = tuple(sides[letter] for letter in layout)
        samples.append((generator.random(shape) * 200).astype(dtype))
    given = {
        "patch_size": patch,
        "merge_size": merge,
        "temporal": draw(st.integers(1, 3)),
        "layout": draw(st.sampled_from(("flat", "grid"))),
    }
    return samples, layout, given


@settings(max_examples=examples(200, quick=30), deadline=None)
@given(calls())
def test_values(call: tuple[list[Array], str, dict[str, Any]]) -> None:
    """All layouts, dtypes and sizes; the batch has no gaps."""
    samples, layout, arguments = call
    made, grids = gradiva.patches(gradiva.batch(samples, layout=layout), **arguments)
    patch, merge, temporal, order = arguments.values()
    assert grids.dtype is gradiva.int64
    assert made.dtype.numpy == samples[0].dtype
    for i, sample in enumerate(samples):
        values, grid = by_numpy(sample, layout, patch, merge, temporal, order)
        np.testing.assert_array_equal(made.at(i), values)
        assert grids.at(i).tolist() == grid
    whole = gradiva.pixel_values(made)
    assert np.shares_memory(whole, made.data) or not whole.size
    joined = np.concatenate([one.reshape(-1, one.shape[-1]) for one in made.arrays()])
    np.testing.assert_array_equal(whole.reshape(joined.shape), joined)


CALLS: dict[str, Any] = {
    "flat": lambda f, x: f.patches(x, patch_size=4, merge_size=2, temporal=2),
    "grid": lambda f, x: f.patches(x, patch_size=4, layout="grid"),
    "after values": lambda f, x: f.patches(
        f.rescale_normalize(x, mean=[0.1, 0.2, 0.3], std=[0.5, 0.6, 0.7]), patch_size=2
    ),
    "half": lambda f, x: f.patches(f.rescale_normalize(x, dtype=gradiva.float16), patch_size=4),
    "after a crop and a flip": lambda f, x: f.patches(
        f.flip(f.crop(x, crop=(8, 8)), horizontal=1, vertical=1), patch_size=4, temporal=2
    ),
    "after a resize": lambda f, x: f.patches(
        f.brightness(f.resize(x, size=(12, 16)), brightness=1.5), patch_size=4, merge_size=1
    ),
    "after Pillow's resize": lambda f, x: f.patches(
        f.flip(f.resize(x, size=(12, 16), compat="pil", interp_type=2)), patch_size=4, temporal=3
    ),
    "after torchvision's resize": lambda f, x: f.patches(
        f.resize(x, size=(12, 16), compat="torchvision", interp_type=2), patch_size=4
    ),
    "of planes": lambda f, x: f.patches(
        f.transpose(f.hue(x, hue=20.0), perm=[2, 0, 1]), patch_size=4
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shapes", [((8, 16, 3), (16, 8, 3), (24, 24, 3)), ((16, 16, 3),) * 3])
def test_modes(name: str, shapes: Any) -> None:
    """At once, compiled and in a pipeline, alone and fused with what is before it."""
    samples = [noise(i, shape) for i, shape in enumerate(shapes)]
    batch = gradiva.batch(samples, layout="HWC")
    wanted = CALLS[name](gradiva, batch)
    compiled = gradiva.capture.compile(lambda images: CALLS[name](gradiva, images))

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline() -> Any:
        images = fn.external_source(lambda: samples, layout="HWC")
        return CALLS[name](fn, images)

    for made in (compiled(batch), pipeline().run()):
        for one, other in zip(made, wanted, strict=True):
            assert one.dtype is other.dtype
            for i in range(3):
                np.testing.assert_array_equal(np.asarray(one.at(i)), other.at(i), strict=True)
        whole = gradiva.pixel_values(made[0])
        assert np.shares_memory(whole, made[0].data)


def test_fused() -> None:
    """The steps before are one group with it, and it runs fused."""
    samples = [noise(i, (30, 40, 3)) for i in range(4)]

    @gradiva.pipeline_def(batch_size=4, num_threads=2, device_id=None)
    def pipeline() -> Any:
        images = fn.external_source(lambda: samples, layout="HWC")
        images = fn.smart_resize(images, patch_size=4, min_pixels=64, max_pixels=1024)
        images = fn.rescale_normalize(images, mean=0.5, std=0.5)
        return fn.patches(images, patch_size=4, merge_size=2, temporal=2)

    pipe = pipeline()
    pipe.run()
    (group,) = pipe.explain()
    assert group.members == ("smart_resize", "rescale_normalize", "patch_blocks")
    assert group.fused == group.batches > 0


def test_frames_fused() -> None:
    """Sequences: each frame finds its place, and the last one is repeated."""
    clips = [noise(count, (count, 20, 28, 3)) for count in (1, 4, 5)]

    def work(f: Any, frames: Any) -> Any:
        frames = f.resize(frames, size=(16, 24), compat="pil", interp_type=2)
        frames = f.rescale_normalize(frames, mean=0.5, std=0.25)
        return f.patches(frames, patch_size=4, merge_size=2, temporal=2)

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline() -> Any:
        return work(fn, fn.external_source(lambda: clips, layout="FHWC"))

    pipe, wanted = pipeline(), work(gradiva, gradiva.batch(clips, layout="FHWC"))
    made = pipe.run()
    for i in range(3):
        np.testing.assert_array_equal(made[0].at(i), wanted[0].at(i))
        np.testing.assert_array_equal(made[1].at(i), wanted[1].at(i))
    assert wanted[1].at(2).tolist() == [3, 4, 6]
    (group,) = pipe.explain()
    assert group.fused == group.batches


def test_gray_beside_color() -> None:
    """Samples with other numbers of channels have patches of other sizes."""
    samples = [noise(i, (12, 20, channels)) for i, channels in enumerate((3, 1, 3, 4))]

    def work(f: Any, x: Any) -> Any:
        x = f.rescale_normalize(f.flip(x), mean=0.5, std=0.25)
        return f.patches(x, patch_size=4, temporal=2)

    compiled = gradiva.capture.compile(lambda x: work(gradiva, x))
    batch = gradiva.batch(samples, layout="HWC")
    (wanted, grids), (made, others) = work(gradiva, batch), compiled(batch)
    assert [shape[1] for shape in wanted.shape] == [96, 32, 96, 128]
    for i in range(4):
        np.testing.assert_array_equal(made.at(i), wanted.at(i))
        np.testing.assert_array_equal(others.at(i), grids.at(i))
    with pytest.raises(OperatorValueError, match="same number of values"):
        gradiva.pixel_values(made)


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_samples_that_are_left_out(tmp_path: Path) -> None:
    """A damaged file: the patches of the others stay what they are."""
    good = sorted(Path(gradiva.__file__).parent.joinpath("photographs").rglob("*.jpg"))[:3]
    (tmp_path / "a").mkdir()
    for k, path in enumerate(good):
        data = path.read_bytes()
        (tmp_path / "a" / f"{k}.jpg").write_bytes(data if k != 1 else data[: len(data) // 3])

    def work(f: Any, x: Any, **policy: Any) -> Any:
        x = f.smart_resize(f.decoders.image(x, **policy), max_pixels=40 * 784)
        return f.patches(f.rescale_normalize(x), patch_size=14, merge_size=2)

    @gradiva.pipeline_def(batch_size=3, num_threads=2, device_id=None)
    def pipeline() -> Any:
        files, _ = fn.readers.file(file_root=str(tmp_path))
        return work(fn, files, on_error="skip")

    rows, grids = pipeline().run()
    assert len(rows) == len(grids) == 2
    for place, k in enumerate((0, 2)):
        alone, grid = work(gradiva, gradiva.batch([np.fromfile(good[k], np.uint8)]))
        np.testing.assert_array_equal(rows.at(place), alone.at(0))
        np.testing.assert_array_equal(grids.at(place), grid.at(0))
    assert gradiva.pixel_values(rows).shape == (sum(shape[0] for shape in rows.shape), 588)


def test_threads_and_batches() -> None:
    """Neither the number of threads nor the size of the batch changes a bit."""
    samples = [noise(i, (28 * (1 + i % 3), 56, 3)) for i in range(6)]

    def patched(some: list[Array], threads: int) -> Array:
        with gradiva.EvalContext(num_threads=threads):
            made, _ = gradiva.patches(gradiva.batch(some, layout="HWC"), patch_size=14)
            return gradiva.pixel_values(made).copy()

    whole = patched(samples, 1)
    np.testing.assert_array_equal(patched(samples, 3), whole)
    single = np.concatenate([patched([one], 2) for one in samples])
    np.testing.assert_array_equal(single, whole)


def test_tensors_and_empty_batches() -> None:
    image = np.arange(16, dtype=np.uint8).reshape(4, 4, 1)
    made, grid = gradiva.patches(image, patch_size=2)
    assert made.shape == (4, 4)
    assert np.asarray(made)[1].tolist() == [2, 3, 6, 7]
    assert np.asarray(grid).tolist() == [1, 2, 2]
    nothing, grids = gradiva.patches(gradiva.batch([], dtype="uint8", layout="HWC"), patch_size=2)
    assert len(nothing) == len(grids) == 0
    assert gradiva.pixel_values(nothing).shape == (0, 0)


def test_pixel_values_copies_what_is_apart() -> None:
    """Samples with gaps between them, and chosen ones, are copied."""
    samples = [np.full((n, 6), n, np.float32) for n in (3, 1, 2)]
    batch = gradiva.batch(samples)
    whole = gradiva.pixel_values(batch)
    assert whole[:, 0].tolist() == [3, 3, 3, 1, 2, 2]
    assert gradiva.pixel_values(batch.select([2, 0]))[:, 0].tolist() == [2, 2, 3, 3, 3]
    grids = gradiva.batch([np.ones((1, 2, 2, 5), np.uint8), np.ones((1, 1, 3, 5), np.uint8)])
    assert gradiva.pixel_values(grids).shape == (7, 5)


def test_pixel_values_refuses() -> None:
    with pytest.raises(OperatorTypeError, match="a batch on the CPU"):
        gradiva.pixel_values(np.zeros((2, 2)))  # type: ignore[arg-type]
    with pytest.raises(OperatorValueError, match="same number of values"):
        gradiva.pixel_values(gradiva.batch([np.zeros((2, 3)), np.zeros((2, 4))]))
    with pytest.raises(OperatorValueError, match="same number of values"):
        gradiva.pixel_values(gradiva.batch([1, 2]))


def test_errors_name_the_sample() -> None:
    batch = gradiva.batch([np.zeros((28, 28, 3), np.uint8), np.zeros((28, 30, 3), np.uint8)])
    with pytest.raises(OperatorValueError, match=r"(?s)14 x 2 pixels.*28 x 30 pixels.*sample 1"):
        gradiva.patches(batch, patch_size=14, merge_size=2)
    compiled = gradiva.capture.compile(
        lambda x: gradiva.patches(gradiva.rescale_normalize(x), patch_size=14)
    )
    with pytest.raises(OperatorValueError, match="28 x 30 pixels"):
        compiled(batch)
