"""Groups that begin with a decoder of sequences: a frame at a time, and the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.eager import extension as op
from gradiva.eager.operators.fusion_roles import Decode
from gradiva.eager.operators.operator import operators
from gradiva.ops.decoders.image.arguments import Replacement
from tests.tiers import few

Array = np.ndarray[Any, Any]
BAD = 255
seen: list[tuple[int, ...]] = []
"""Shapes of the arrays that were filled."""


def picture(seed: int, frame: int, height: int, width: int) -> Array:
    generator = np.random.default_rng((seed, frame))
    return generator.integers(0, 256, (height, width, 3)).astype(np.uint8)


def declare() -> Any:
    """`test.clips`: of bytes (seed, frames, height, width) a sequence; damaged from frame 1 on
    where the seed is 255."""

    @op.operator("test.clips")
    @op.uses_arguments(Replacement)
    def clips(input: op.SampleType, /, **options: Any) -> op.SampleType:
        return op.SampleType(op.uint8, 4, "FHWC", input.device)

    @clips.shapes
    def shapes(call: op.Call) -> op.Int64Array:
        rows = [[*map(int, one[1:]), 3] for one in call.inputs[0].arrays()]
        return np.array(rows, np.int64).reshape(-1, 4)

    def frames(call: op.Call, sample: int, show: Callable[[int, Array], None]) -> None:
        seed, count, height, width = map(int, call.inputs[0].array(sample))
        for frame in range(count)[::-1]:  # in any order
            if seed == BAD and frame < count - 1:
                raise op.SampleDataError("damaged", sample=sample)
            show(frame, picture(seed, frame, height, width))

    def whole(call: op.Call) -> Any:
        def make(sample: int, out: Array) -> None:
            def keep(frame: int, pixels: Array) -> None:
                out[frame] = pixels

            frames(call, sample, keep)

        return make, call.batch_shapes[0].volumes.tolist()

    def each(call: op.Call) -> Any:
        def make(sample: int, out: Array, show: Callable[[int], None]) -> None:
            def put(frame: int, pixels: Array) -> None:
                seen.append(out.shape)
                out[...] = pixels
                show(frame)

            frames(call, sample, put)

        return make, call.batch_shapes[0].volumes.tolist()

    clips.fusion_role = Decode(whole, decode_frames=each)
    clips.cpu(clips.fusion_role.run)
    return clips


@pytest.fixture
def clips() -> Iterator[Any]:
    seen.clear()
    before = dict(operators)
    yield declare()
    for name in operators.keys() - before.keys():
        del operators[name]


FILES = ((1, 5, 30, 41), (2, 1, 20, 20), (3, 8, 25, 33), (4, 2, 44, 16))
NORMAL: dict[str, Any] = {"mean": [120.0, 110.0, 100.0], "std": [60.0, 61.0, 62.0]}


def files(*rows: tuple[int, int, int, int]) -> gradiva.Batch:
    return gradiva.batch([np.array(row, np.uint8) for row in rows])


def normalized(video: Any) -> Any:
    return gradiva.crop_mirror_normalize(
        video, crop=(16, 16), mirror=[0, 1, 1, 0], output_layout="FCHW", **NORMAL
    )


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "resize, normalize": lambda video: normalized(gradiva.resize(video, size=(18, 24))),
    "shorter side": lambda video: normalized(gradiva.resize(video, resize_shorter=17)),
    "normalize": normalized,
    "flip, resize": lambda video: gradiva.resize(
        gradiva.flip(video, horizontal=[0, 1, 0, 1], vertical=[1, 0, 0, 1]), size=(9, 30)
    ),
    "resize, flip": lambda video: gradiva.flip(gradiva.resize(video, size=(40, 40)), vertical=1),
    "nothing moves": lambda video: gradiva.brightness(video, brightness=[0.5, 1.0, 1.5, 2.0]),
    "crop": lambda video: gradiva.crop(video, crop=(11, 13), crop_pos_x=0.9),
    "nearest": lambda video: gradiva.resize(
        video, size=(50, 50), interp_type=gradiva.types.INTERP_NN
    ),
}


@pytest.mark.parametrize("name", few(PROGRAMS, every=3))
@pytest.mark.parametrize("threads", few([1, 3], 3))
def test_same_bits(name: str, threads: int, clips: Any) -> None:
    program = PROGRAMS[name]
    with gradiva.EvalContext(num_threads=threads):
        expected = program(clips(files(*FILES)))
        assert not seen
        compiled = gradiva.capture.compile(lambda data: program(clips(data)))
        made = compiled(files(*FILES))
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    filled = [(height, width, 3) for _, count, height, width in FILES for _ in range(count)]
    assert sorted(seen) == sorted(filled)  # a frame each time
    (group,) = compiled.explain()
    assert group.title.startswith("test.clips")


def test_sequences_without_frames(clips: Any) -> None:
    compiled = gradiva.capture.compile(lambda data: gradiva.resize(clips(data), size=(8, 9)))
    made = compiled(files((1, 0, 5, 5), (2, 2, 5, 5)))
    expected = gradiva.resize(clips(files((1, 0, 5, 5), (2, 2, 5, 5))), size=(8, 9))
    assert [one.shape for one in made] == [(0, 8, 9, 3), (2, 8, 9, 3)]
    np.testing.assert_array_equal(made.at(1), expected.at(1))


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
def test_damaged(policy: str, clips: Any) -> None:
    def program(data: Any) -> Any:
        return gradiva.resize(clips(data, on_error=policy, fill_value=7.0), size=(12, 10))

    data = files((1, 2, 9, 9), (BAD, 3, 9, 9), (3, 2, 9, 9))
    compiled = gradiva.capture.compile(program)
    if policy == "raise":
        with pytest.raises(gradiva.OperatorRuntimeError, match=r"damaged\n  in sample 1"):
            compiled(data).evaluate()
        return
    made, expected = list(compiled(data)), list(program(data))
    assert len(made) == len(expected) == (2 if policy == "skip" else 3)
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    if policy == "replace":
        assert (np.asarray(made[1]) == 7).all()
    assert seen


VIDEO_PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "clips": lambda data: normalized(
        gradiva.resize(
            gradiva.decoders.video(data, start_frame=[0, 1, 2, 0], sequence_length=3, stride=2),
            size=(18, 24),
        )
    ),
    "padded": lambda data: gradiva.resize(
        gradiva.decoders.video(data, frames=[3, -1, 0, 3, 9, 1], fill_value=[10, 20, 30]),
        resize_shorter=30,
    ),
    "all": lambda data: gradiva.crop(gradiva.decoders.video(data), crop=(12, 12)),
}


@pytest.mark.parametrize("name", VIDEO_PROGRAMS)
def test_videos(name: str) -> None:
    pytest.importorskip("av")
    from gradiva.ops.decoders.video import small_video

    data = gradiva.batch([small_video(), small_video(6, 20, 16), small_video(), small_video(4)])
    program = VIDEO_PROGRAMS[name]
    compiled = gradiva.capture.compile(program)
    for one, other in zip(compiled(data), program(data), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    (group,) = compiled.explain()
    assert group.title.startswith("decoders.video + ")


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
def test_damaged_videos(policy: Any) -> None:
    pytest.importorskip("av")
    from gradiva.ops.decoders.video import small_video

    whole = small_video(6, 40, 52)
    cut, noise = whole.copy(), np.arange(500, dtype=np.uint8)
    middle = len(cut) // 2
    cut[middle : middle + 400] = 77
    data = gradiva.batch([whole, cut, whole, noise, whole])

    def program(files: Any) -> Any:
        video = gradiva.decoders.video(files, on_error=policy, fill_value=[9, 8, 7], frames=[5, 0])
        return gradiva.resize(video, size=(12, 10))

    compiled = gradiva.capture.compile(program)
    if policy == "raise":
        with pytest.raises(gradiva.OperatorRuntimeError) as fused:
            compiled(data).evaluate()
        with pytest.raises(gradiva.OperatorRuntimeError) as plain:
            program(data)
        assert str(fused.value).splitlines()[:2] == str(plain.value).splitlines()[:2]
        return
    made, expected = list(compiled(data)), list(program(data))
    assert [one.shape for one in made] == [one.shape for one in expected]
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
