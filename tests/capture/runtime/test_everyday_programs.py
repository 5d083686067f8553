"""What people write every day runs fused, in every batch, whatever files a folder mixes, and with
the bits of dynamic mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture, random, types
from gradiva.capture.runtime import program
from gradiva.capture.runtime.fusion_report import NotFusableError, Reason
from tests.capture.loop.loops import bits
from tests.capture.runtime.mixed_files import mixed_files
from tests.eager.execution.damaged import as_pipeline, compiled, damage, eager, looped
from tests.tiers import few

pytestmark = [pytest.mark.core, pytest.mark.filterwarnings("ignore:samples that cannot be read")]

Body = Callable[[Any, Any], Any]
MEAN, STD = [124.0, 116.0, 104.0], [58.0, 57.0, 57.0]


@pytest.fixture(scope="module", name="folder")
def mixed_folder(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return mixed_files(tmp_path_factory.mktemp("mixed"))


def decode(files: Any, policy: Any, **options: Any) -> Any:
    return gradiva.decoders.image(files, on_error=policy, **options)


def small(files: Any, policy: Any, **options: Any) -> Any:
    return gradiva.resize(decode(files, policy), resize_shorter=36, **options)


def normal(images: Any, **options: Any) -> Any:
    given = {"mean": MEAN, "std": STD, **options}
    return gradiva.crop_mirror_normalize(images, **given)


def coin(images: Any) -> Any:
    return random.coin_flip(batch_size=images.batch_size)


def flipped(images: Any) -> Any:
    return gradiva.flip(images, horizontal=coin(images), vertical=coin(images))


def number(images: Any, low: float, high: float) -> Any:
    return random.uniform(range=(low, high), batch_size=images.batch_size)


def train(files: Any, policy: Any) -> Any:
    images = gradiva.random_resized_crop(decode(files, policy), size=(32, 32))
    return normal(images, mirror=coin(images))


def random_window(files: Any, policy: Any, **options: Any) -> Any:
    part = gradiva.decoders.image_random_crop(files, on_error=policy)
    images = gradiva.resize(part, size=(32, 32))
    return normal(images, mirror=coin(images), **options)


def colored(files: Any, policy: Any) -> Any:
    images = small(files, policy)
    hue, saturation = number(images, -20.0, 20.0), number(images, 0.7, 1.3)
    images = gradiva.color_twist(images, hue=hue, saturation=saturation, brightness=1.1)
    return normal(images, crop=(32, 32), mirror=coin(images))


def brighter(files: Any, policy: Any, **options: Any) -> Any:
    images = small(files, policy)
    images = gradiva.brightness_contrast(images, brightness=number(images, 0.8, 1.2), contrast=0.9)
    return normal(images, crop=(32, 32), mirror=coin(images), **options)


HALF: Any = {"dtype": types.FLOAT16}
OWN: Any = {"output_type": types.ANY_DATA}
GRAY: Any = {"output_type": types.GRAY}
ONE: Any = {"mean": [120.0], "std": [60.0]}
VAL = "decoders.image + resize + crop + normalize_pixels + transpose"
HWC = "decoders.image + resize + crop + normalize_pixels"

PROGRAMS: dict[str, tuple[Body, str]] = {
    "resize": (
        lambda files, policy: gradiva.resize(decode(files, policy), size=(30, 40)),
        "decoders.image + resize",
    ),
    "val": (lambda files, policy: normal(small(files, policy), crop=(32, 32)), VAL),
    "val, decoded small": (
        lambda files, policy: normal(
            gradiva.resize(decode(files, policy, min_size=20), resize_shorter=18), crop=(16, 16)
        ),
        VAL,
    ),
    "val, not smaller": (
        lambda files, policy: normal(
            gradiva.resize(decode(files, policy), size=(36, 36), mode="not_smaller"), crop=(32, 32)
        ),
        VAL,
    ),
    "val, cubic": (
        lambda files, policy: normal(
            small(files, policy, interp_type=types.INTERP_CUBIC), crop=(32, 32)
        ),
        VAL,
    ),
    "val, nearest": (
        lambda files, policy: normal(
            small(files, policy, interp_type=types.INTERP_NN), crop=(32, 32)
        ),
        VAL,
    ),
    "val, HWC": (
        lambda files, policy: normal(small(files, policy), crop=(32, 32), output_layout="HWC"),
        HWC,
    ),
    "val, half": (lambda files, policy: normal(small(files, policy), crop=(32, 32), **HALF), VAL),
    "val, half, HWC": (
        lambda files, policy: normal(
            small(files, policy), crop=(32, 32), output_layout="HWC", **HALF
        ),
        HWC,
    ),
    "val, gray": (
        lambda files, policy: normal(
            gradiva.resize(decode(files, policy, **GRAY), resize_shorter=36), crop=(32, 32), **ONE
        ),
        VAL,
    ),
    "val, channels of the file": (
        lambda files, policy: normal(
            gradiva.resize(decode(files, policy, **OWN), resize_shorter=36), crop=(32, 32), **ONE
        ),
        VAL,
    ),
    "resize, channels of the file": (
        lambda files, policy: gradiva.resize(decode(files, policy, **OWN), size=(30, 40)),
        "decoders.image + resize",
    ),
    "crop, flip, channels of the file": (
        lambda files, policy: flipped(gradiva.crop(decode(files, policy, **OWN), crop=(30, 40))),
        "decoders.image + crop + flip",
    ),
    "windows, channels of the file": (
        lambda files, policy: gradiva.resize(
            gradiva.decoders.image_crop(files, crop=(30, 40), on_error=policy, **OWN), size=(20, 22)
        ),
        "decoders.image_crop + resize",
    ),
    "train": (train, "decoders.image + random_resized_crop + flip + normalize_pixels + transpose"),
    "train, random window": (
        random_window,
        "decoders.image_random_crop + resize + flip + normalize_pixels + transpose",
    ),
    "train, random window, half": (
        lambda files, policy: random_window(files, policy, **HALF),
        "decoders.image_random_crop + resize + flip + normalize_pixels + transpose",
    ),
    "window": (
        lambda files, policy: normal(
            gradiva.decoders.image_crop(files, crop=(32, 32), on_error=policy), mirror=1
        ),
        "decoders.image_crop + flip + normalize_pixels + transpose",
    ),
    "color twist": (
        colored,
        "decoders.image + resize + crop + flip + color_twist + normalize_pixels + transpose",
    ),
    "brightness": (
        brighter,
        "decoders.image + resize + crop + flip + brightness_contrast + normalize_pixels"
        " + transpose",
    ),
    "brightness, half": (
        lambda files, policy: brighter(files, policy, **HALF),
        "decoders.image + resize + crop + flip + brightness_contrast + normalize_pixels"
        " + transpose",
    ),
    "flip, resize": (
        lambda files, policy: gradiva.resize(flipped(decode(files, policy)), resize_shorter=36),
        "decoders.image + flip + resize",
    ),
    "flip, val": (
        lambda files, policy: normal(
            gradiva.resize(flipped(decode(files, policy)), resize_shorter=36), crop=(32, 32)
        ),
        "decoders.image + flip + resize + crop + normalize_pixels + transpose",
    ),
    "flip, train": (
        lambda files, policy: normal(
            gradiva.random_resized_crop(flipped(decode(files, policy)), size=(32, 32))
        ),
        "decoders.image + flip + random_resized_crop + normalize_pixels + transpose",
    ),
    "flip, nearest": (
        lambda files, policy: gradiva.resize(
            flipped(decode(files, policy)), size=(30, 40), interp_type=types.INTERP_NN
        ),
        "decoders.image + flip + resize",
    ),
    "crop, flip, resize, flip": (
        lambda files, policy: flipped(
            gradiva.resize(flipped(gradiva.crop(decode(files, policy), crop=(40, 30))), size=24)
        ),
        "decoders.image + crop + flip + resize + flip",
    ),
    "flip, crop, resize": (
        lambda files, policy: gradiva.resize(
            gradiva.crop(flipped(decode(files, policy)), crop=(40, 30), crop_pos_x=0.2), size=24
        ),
        "decoders.image + flip + crop + resize",
    ),
    "flip, resize, channels of the file": (
        lambda files, policy: gradiva.resize(flipped(decode(files, policy, **OWN)), size=(30, 40)),
        "decoders.image + flip + resize",
    ),
    "random window, flip, resize": (
        lambda files, policy: gradiva.resize(
            flipped(gradiva.decoders.image_random_crop(files, on_error=policy)), size=(30, 40)
        ),
        "decoders.image_random_crop + flip + resize",
    ),
    "crop to float": (
        lambda files, policy: gradiva.crop(
            small(files, policy), crop=(30, 32), crop_pos_x=0.1, dtype=gradiva.float32
        ),
        "decoders.image + resize + crop + cast",
    ),
    "crop to half, flip": (
        lambda files, policy: flipped(
            gradiva.crop(small(files, policy), crop=(30, 32), dtype=gradiva.float16)
        ),
        "decoders.image + resize + crop + flip + cast",
    ),
    "padded": (
        lambda files, policy: normal(
            small(files, policy), crop=(32, 32), mirror=1, pad_output=True
        ),
        "decoders.image + resize + crop + flip + normalize_pixels + pad_channels + transpose",
    ),
    "padded, half": (
        lambda files, policy: normal(
            small(files, policy), crop=(32, 32), pad_output=True, output_layout="HWC", **HALF
        ),
        "decoders.image + resize + crop + normalize_pixels + pad_channels",
    ),
    "resize_crop_mirror": (
        lambda files, policy: gradiva.resize_crop_mirror(
            decode(files, policy), resize_shorter=36, crop=(32, 40), mirror=3
        ),
        "decoders.image + resize_crop_mirror",
    ),
    "resize_crop_mirror, flip, crop": (
        lambda files, policy: gradiva.crop(
            flipped(
                gradiva.resize_crop_mirror(
                    flipped(decode(files, policy)), size=(36, 40), crop=(34, 32), mirror=1
                )
            ),
            crop=(20, 30),
            crop_pos_x=0.3,
        ),
        "decoders.image + flip + resize_crop_mirror + flip + crop",
    ),
    "normalize by numbers": (
        lambda files, policy: gradiva.normalize(
            small(files, policy), mean=120.0, stddev=50.0, shift=0.5, epsilon=2.0, **HALF
        ),
        "decoders.image + resize + normalize_by_numbers",
    ),
    "cast to half": (
        lambda files, policy: gradiva.cast(small(files, policy), dtype=gradiva.float16),
        "decoders.image + resize + cast",
    ),
    "float image": (
        lambda files, policy: gradiva.resize(
            flipped(decode(files, policy, dtype=gradiva.float32)), size=(30, 40)
        ),
        "decoders.image + flip + resize",
    ),
}


def body_of(name: str) -> Any:
    written = PROGRAMS[name][0]
    return lambda files, labels, policy: (written(files, policy), labels)


def check_fused(explained: Any, name: str, batches: int) -> None:
    (group,) = explained
    assert group.title == PROGRAMS[name][1]
    assert (group.fused, group.separate, group.reasons) == (batches, 0, {})


@pytest.mark.parametrize("name", few(PROGRAMS, *list(PROGRAMS)[::4]))
def test_a_folder_of_mixed_files(name: str, folder: list[str]) -> None:
    wanted = eager(body_of(name), folder, 6, "raise")
    pipe = as_pipeline(body_of(name), folder, 6, "raise", prefetch_queue_depth=1, exec_async=False)
    found = [[bits(out) for out in pipe.run()] for _ in range(2)]
    explained = pipe.explain()
    pipe.close()
    assert found == wanted
    check_fused(explained, name, 2)


@pytest.mark.parametrize("name", ["val, half", "flip, val", "resize, channels of the file"])
def test_a_captured_loop_and_a_compiled_function(name: str, folder: list[str]) -> None:
    wanted = eager(body_of(name), folder, 4, "raise")
    assert looped(body_of(name), folder, 4, "raise") == wanted
    assert compiled(body_of(name), folder, 4, "raise") == wanted


@pytest.fixture(scope="module", name="damaged")
def folder_with_damage(folder: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The same files; of each half two or three cannot be read."""
    to = tmp_path_factory.mktemp("damaged")
    bad = {0: "cut", 3: "empty", 4: "zeroed", 8: "cut", 10: "cut"}
    paths = [to / Path(path).name for path in folder]
    for index, path in enumerate(paths):
        path.write_bytes(Path(folder[index]).read_bytes())
        if index in bad:
            damage(path, bad[index])
    return [str(path) for path in paths]


def outcome(pipe: gradiva.Pipeline) -> tuple[list[Any], list[Any]]:
    """Bits, files and positions of two batches, or their errors, and the quarantine."""
    found: list[Any] = []
    for _ in range(2):
        try:
            outputs = pipe.run()
        except gradiva.GradivaError as error:
            found.append(str(error))
        else:
            places = [(out.source_info(), np.asarray(out.positions).tolist()) for out in outputs]
            found.append((list(map(bits, outputs)), places))
    return found, list(pipe.quarantine)


CROPPED = {"crop, flip, channels of the file", "crop, flip, resize, flip", "flip, crop, resize"}
"""What does not bear the one pixel in place of a file without a header."""


@pytest.mark.parametrize("policy", few(["skip", "replace"], "skip"))
@pytest.mark.parametrize("name", few(PROGRAMS, every=10))
def test_a_folder_with_damaged_files(
    name: str, policy: Any, damaged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the members ran one by one, and yet what is left of each batch runs fused."""
    options: dict[str, Any] = {"prefetch_queue_depth": 1, "exec_async": False}
    pipe = as_pipeline(body_of(name), damaged, 6, policy, **options)
    (found, listed), explained = outcome(pipe), pipe.explain()
    pipe.close()
    monkeypatch.setattr(program, "run_group", refuse)
    pipe = as_pipeline(body_of(name), damaged, 6, policy, **options)
    assert (found, listed) == outcome(pipe)
    pipe.close()
    fails = [isinstance(batch, str) for batch in found]
    assert any(fails) == (policy == "replace" and name in CROPPED)
    if not any(fails):
        assert len(listed) == 5
        check_fused(explained, name, 2)


def refuse(*_arguments: Any) -> Any:
    raise NotFusableError(Reason.MEMBER)


def test_an_argument_with_a_row_for_each_sample(damaged: list[str]) -> None:
    """The members alone would refuse it, where a sample is gone."""

    def body(files: Any, labels: Any, policy: Any) -> Any:
        images = gradiva.resize(decode(files, policy), size=(20, 30))
        return gradiva.crop(images, crop=(9, 9), crop_pos_x=np.linspace(0, 1, 6))

    pipe = as_pipeline(body, damaged, 6, "skip", exec_async=False)
    with pytest.raises(gradiva.OperatorValueError, match="crop_pos_x"):
        pipe.run()
    pipe.close()


@pytest.mark.parametrize("height", [60, 200])
def test_an_error_names_the_sample_among_all(
    height: int, damaged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where others have left the batch: of a window of the decoder, and of one after it."""

    def body(files: Any, labels: Any, policy: Any) -> Any:
        window = (48, 40) if height == 200 else (height, 40)
        part = gradiva.decoders.image_crop(files, crop=window, on_error=policy)
        return gradiva.resize(gradiva.crop(part, crop=(min(height, 50), 40)), size=24)

    found = []
    for fused in (True, False):
        if not fused:
            monkeypatch.setattr(program, "run_group", refuse)
        pipe = as_pipeline(body, damaged, 12, "skip", exec_async=False)
        with pytest.raises(gradiva.OperatorValueError) as error:
            pipe.run()
        pipe.close()
        found.append(str(error.value))
    assert found[0] == found[1]
    assert "in sample" in found[0]


def arrays(*shapes: tuple[int, ...], layout: str = "HWC", dtype: Any = np.uint8) -> gradiva.Batch:
    noise = np.random.default_rng(4)
    samples = [noise.integers(0, 255, shape).astype(dtype) for shape in shapes]
    return gradiva.batch(samples, layout=layout)


MIXED = (13, 17, 3), (20, 9, 1), (8, 24, 1), (13, 17, 4), (1, 1, 2), (30, 7, 3)
BATCHES = {
    "HWC": arrays((13, 17, 3), (20, 9, 3), (1, 1, 3), (8, 24, 3)),
    "one channel": arrays((13, 17, 1), (20, 9, 1), (1, 2, 1)),
    "five channels": arrays((13, 17, 5), (20, 9, 5)),
    "channels differ": arrays(*MIXED),
    "channels differ, int16": arrays(*MIXED, dtype=np.int16),
    "CHW": arrays((3, 13, 17), (1, 20, 9), layout="CHW"),
    "FHWC": arrays((2, 13, 17, 3), (3, 20, 9, 3), (0, 4, 5, 3), layout="FHWC"),
    "HW, float": arrays((13, 17), (20, 9), layout="HW", dtype=np.float32),
}
FILTERS = few([types.INTERP_LINEAR, types.INTERP_LANCZOS3, types.INTERP_NN], types.INTERP_LINEAR)
FLIPS: Any = {
    "horizontal": (1, 0),
    "vertical": (0, 1),
    "both": (1, 1),
    "some": ([1, 0, 1, 0, 1, 1], [0, 1, 1, 0, 0, 1]),
}


@pytest.mark.parametrize("which", few(FLIPS, "some"))
@pytest.mark.parametrize("kind", few(BATCHES, *list(BATCHES)[::3]))
@pytest.mark.parametrize("filter", FILTERS)
def test_arrays_flipped_before_a_resize(kind: str, which: str, filter: Any) -> None:
    data = BATCHES[kind]
    flips = [flag if isinstance(flag, int) else flag[: len(data)] for flag in FLIPS[which]]

    def body(data: Any) -> Any:
        images = gradiva.flip(data, horizontal=flips[0], vertical=flips[1])
        images = gradiva.resize(images, size=(7, 11), interp_type=filter)
        return gradiva.cast(gradiva.flip(images, horizontal=flips[1]), dtype=gradiva.float16)

    fast = capture.compile(body)
    assert bits(fast(data)) == bits(body(data))
    (group,) = fast.explain()
    assert (group.fused, group.separate) == (1, 0)
    assert group.members == ("flip", "resize", "flip", "cast")


def test_arithmetic_between_channels_refuses_other_numbers_of_them() -> None:
    def body(data: Any) -> Any:
        return gradiva.hsv(gradiva.flip(data), hue=20.0)

    with pytest.raises(gradiva.GradivaError) as one:
        body(BATCHES["channels differ"])
    with pytest.raises(gradiva.GradivaError) as other:
        capture.compile(body)(BATCHES["channels differ"])
    assert str(one.value).splitlines()[0] == str(other.value).splitlines()[0]
