"""Schedules as arguments of operators: the same bits in all modes, nothing compiled again."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import OperatorRuntimeError, OperatorTypeError, OperatorValueError, fn, pipeline_def
from gradiva.auto_aug import rand_augment
from gradiva.eager.jit.jit import compiled_kernels
from gradiva.plugin.base_iterator import LastBatchPolicy
from gradiva.plugin.numpy import DALIRaggedIterator
from tests.capture.schedules import (
    ANGLE,
    COUNT,
    LIGHT,
    PADDED,
    SIZE,
    augmented,
    dynamic,
    make_folder,
    pipeline,
    plain,
    reader,
    run,
)
from tests.eager.operators.example_files import write_files
from tests.needs import needs_opencv

pytestmark = pytest.mark.core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("pictures"))


def iterated(pipe: Any, epochs: int) -> list[Any]:
    """Batches that end with epochs, as those of loops in dynamic mode do."""
    names = ["images", "turned", "drawn", "moved", "mixed", "scaled"]
    iterator = DALIRaggedIterator(
        pipe, names, reader_name="files", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
    )
    return [plain(row[0][name] for name in names) for _ in range(epochs) for row in iterator]


def test_all_modes_give_the_same_bits(folder: str) -> None:
    once = dynamic(folder, 3, **PADDED)
    assert len(once) == 9
    assert [len(step[0]) for step in once] == [3] * 9
    assert dynamic(folder, 3, capture=True, **PADDED) == once
    assert run(pipeline(folder, **PADDED), 9) == once
    assert run(pipeline(folder, debug=True, **PADDED), 9) == once
    assert run(pipeline(folder, prefetch_queue_depth=5, num_threads=4, **PADDED), 9) == once
    compiled = gradiva.capture.compile(augmented)
    assert dynamic(folder, 3, body=compiled, **PADDED) == once
    assert compiled.compilations == 1


def test_epochs_that_end_with_a_smaller_batch(folder: str) -> None:
    once = dynamic(folder, 3)
    assert [len(step[0]) for step in once] == [3, 3, 1] * 3
    assert dynamic(folder, 3, capture=True) == once
    assert iterated(pipeline(folder), 3) == once


def test_values_are_those_of_the_places(folder: str) -> None:
    """Against arithmetic by hand: sizes by the epoch, angles by the step, light by the sample."""
    found = []
    source = reader(folder)
    for epoch in range(3):
        for turn, (files, _) in enumerate(source.next_epoch(batch_size=3)):
            step = 3 * epoch + turn
            images = gradiva.decoders.image(files)
            by_hand = gradiva.resize(images, size=(8, 12.5, 17)[epoch])
            assert plain([gradiva.resize(images, size=SIZE)]) == plain([by_hand])
            turned = gradiva.rotate(images, angle=ANGLE.at(step=step))
            assert plain([gradiva.rotate(images, angle=ANGLE)]) == plain([turned])
            numbers = COUNT * epoch + 3 * turn + np.arange(len(files))
            assert files.positions is not None
            assert files.positions.tolist() == numbers.tolist()
            light = gradiva.brightness(images, brightness=LIGHT.at(sample=numbers))
            assert plain([gradiva.brightness(images, brightness=LIGHT)]) == plain([light])
            found.append(step)
    assert found == list(range(9))


@pytest.mark.filterwarnings("ignore:samples that cannot be read")
def test_samples_that_are_left_out(tmp_path: Path) -> None:
    noise = np.random.default_rng(2)
    (tmp_path / "a").mkdir()
    for number in range(COUNT):
        path = tmp_path / "a" / f"{number}.png"
        Image.fromarray(noise.integers(0, 255, (12, 12, 3), np.uint8)).save(path)
        if number in (2, 5):
            path.write_bytes(path.read_bytes()[:50])

    def body(files: Any) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files, on_error="skip")
        images = gradiva.resize(images, size=SIZE)
        lit = gradiva.brightness(images, brightness=LIGHT)
        return lit, gradiva.rotate(lit, angle=ANGLE)

    once = dynamic(str(tmp_path), 3, body=body, **PADDED)
    assert sum(len(step[0]) for step in once) < 27
    assert dynamic(str(tmp_path), 3, body=body, capture=True, **PADDED) == once
    assert run(pipeline(str(tmp_path), body, **PADDED), 9) == once


def test_branches(folder: str) -> None:
    @pipeline_def(batch_size=3, num_threads=2, seed=5, enable_conditionals=True)
    def training() -> Any:
        files, _ = fn.readers.file(file_root=folder, name="files", pad_last_batch=True)
        images = fn.resize(fn.decoders.image(files), size=(8, 8))
        if fn.random.coin_flip(dtype=gradiva.bool_):
            images = fn.brightness(images, brightness=LIGHT)
        else:
            images = fn.rotate(images, angle=ANGLE, size=(8, 8))
        return fn.brightness(images, brightness=LIGHT)

    source = gradiva.readers.File(file_root=folder, pad_last_batch=True)
    gradiva.random.set_seed(5)
    pipe = training()
    for epoch in range(2):
        for turn, (files, _) in enumerate(source.next_epoch(batch_size=3)):
            images = gradiva.resize(gradiva.decoders.image(files), size=(8, 8))
            chosen = gradiva.random.coin_flip(batch_size=3).numpy()
            lit = gradiva.brightness(images, brightness=LIGHT)
            turned = gradiva.rotate(images, angle=ANGLE.at(step=3 * epoch + turn), size=(8, 8))
            mixed = [(lit if one else turned).tensors[k] for k, one in enumerate(chosen)]
            numbers = epoch * COUNT + np.minimum(3 * turn + np.arange(3), COUNT - 1)
            light = LIGHT.at(sample=numbers)
            wanted = gradiva.brightness(gradiva.batch(mixed, layout="HWC"), brightness=light)
            assert plain(pipe.run()) == plain([wanted])


def test_the_group_stays_fused_and_nothing_is_compiled_again(folder: str) -> None:
    def body(files: Any) -> tuple[Any, ...]:
        images = gradiva.resize(gradiva.decoders.image(files), size=SIZE)
        images = gradiva.brightness_contrast(images, brightness=LIGHT)
        window = gradiva.schedule({0: 4, 2: 7})
        flat = gradiva.crop_mirror_normalize(images, crop_h=window, crop_w=window, mean=[100.0])
        return (flat,)

    pipe = pipeline(folder, body)
    run(pipe, 2)
    before = len(compiled_kernels)
    run(pipe, 7)
    assert len(compiled_kernels) == before
    (group,) = pipe.explain()
    assert len(group.members) > 4
    assert group.fused >= 9
    assert group.separate == group.partly == 0
    source = reader(folder)
    compilations = []
    for _ in range(3):
        loop = source.next_epoch(batch_size=3, capture=True)
        for files, _ in loop:
            plain(body(files))
        compilations.append(loop._program.compilations)
        explanation = loop.explain()
    assert compilations == [1, 1, 1]
    assert not len(explanation)
    assert len(compiled_kernels) == before


def test_arguments_that_are_one_for_all_samples(folder: str) -> None:
    """Those that cannot be given per sample take schedules by the epoch and the step."""
    size = gradiva.schedule({0: (8, 6), 2: (17, 9)})
    area = gradiva.schedule({0: (0.1, 0.2), 3: (0.9, 1.0)}, per="step")
    fill = gradiva.schedule({0: 0.0, 9: 255.0}, per="step")

    def body(files: Any) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files)
        cut = gradiva.random_resized_crop(images, size=size, random_area=area, seed=3)
        return cut, gradiva.rotate(cut, angle=30, fill_value=fill)

    once = dynamic(folder, 3, body=body, **PADDED)
    assert [step[0][0][1][:2] for step in once[::3]] == [(8, 6), (13, 8), (17, 9)]
    assert dynamic(folder, 3, body=body, capture=True, **PADDED) == once
    assert run(pipeline(folder, body, **PADDED), 9) == once
    compiled = gradiva.capture.compile(body)
    assert dynamic(folder, 3, body=compiled, **PADDED) == once
    assert compiled.compilations == 1


def test_per_sample_without_a_batch_size(folder: str) -> None:
    """Makers make a value for each sample of the step, in all modes."""

    def body(files: Any) -> tuple[Any, ...]:
        images = gradiva.resize(gradiva.decoders.image(files), size=(9, 9))
        matrices = gradiva.transforms.rotation(angle=100 * LIGHT)
        chance = gradiva.random.uniform(range=gradiva.schedule({0: (0, 1), 9: (5, 8)}, "sample"))
        return gradiva.warp_affine(images, matrices), matrices, chance

    once = dynamic(folder, 2, body=body, **PADDED)
    assert [len(value) for value in once[0]] == [3, 3, 3]
    assert dynamic(folder, 2, body=body, capture=True, **PADDED) == once
    assert run(pipeline(folder, body, **PADDED), 6) == once
    compiled = gradiva.capture.compile(body)
    assert dynamic(folder, 2, body=compiled, **PADDED) == once


def test_schedules_made_in_the_body_of_a_loop(folder: str) -> None:
    scale = 3.0
    source = reader(folder)
    for _ in range(2):
        loop = source.next_epoch(batch_size=3, capture=True)
        for files, _ in loop:
            images = gradiva.decoders.image(files)
            gradiva.rotate(images, angle=gradiva.schedule(lambda epoch: scale * epoch))
            gradiva.rotate(images, angle=gradiva.schedule({0: 0, 5: 10}))
    assert not len(loop.explain())


def test_caches_do_not_keep_what_follows_a_schedule(folder: str) -> None:
    def body(files: Any) -> tuple[Any, ...]:
        return (fn.cache(gradiva.resize(gradiva.decoders.image(files), size=SIZE)),)

    with pytest.raises(OperatorValueError, match="follows a schedule"):
        pipeline(folder, body).build()

    def later(files: Any) -> tuple[Any, ...]:
        return (gradiva.resize(fn.cache(gradiva.decoders.image(files)), size=SIZE),)

    def without(files: Any) -> tuple[Any, ...]:
        return (gradiva.resize(gradiva.decoders.image(files), size=SIZE),)

    once = run(pipeline(folder, without), 8)
    assert run(pipeline(folder, later), 8) == once
    assert run(pipeline(folder, without, cache="ram"), 8) == once


@pytest.mark.full
def test_places_of_caches_that_are_chosen(folder: str) -> None:
    """What is before the first schedule may be kept; what follows one is not."""
    once = dynamic(folder, 3, **PADDED)
    source = reader(folder, **PADDED)
    gradiva.random.set_seed(5)
    found = []
    for _ in range(3):
        for files, _ in source.next_epoch(batch_size=3, capture=True, cache="ram"):
            found.append(plain(augmented(files)))
    assert found == once
    compiled = gradiva.capture.compile(augmented, cache="ram")
    assert dynamic(folder, 3, body=compiled, **PADDED) == once
    assert run(pipeline(folder, cache="ram", **PADDED), 9) == once


def test_bad_arguments(folder: str) -> None:
    files = next(reader(folder).next_epoch(batch_size=2))[0]
    images = gradiva.decoders.image(files)
    wide = gradiva.schedule({0: (1, 2, 3)})
    for call, name in (
        (lambda: gradiva.rotate(images, angle=gradiva.schedule({0: (1, 2)})), "angle"),
        (lambda: gradiva.resize(images, size=wide), "size"),
        (lambda: gradiva.rotate(images, angle=1, fill_value=LIGHT), "fill_value"),
        (lambda: gradiva.cast(images, dtype=SIZE), "dtype"),
        (lambda: gradiva.readers.File(file_root=folder, num_shards=SIZE), "num_shards"),
        (lambda: gradiva.rotate(images, angle=1, interp_type=SIZE), "interp_type"),
    ):
        with pytest.raises((OperatorTypeError, OperatorValueError)) as caught:
            call()
        assert caught.value.argument == name, caught.value
    with pytest.raises(OperatorTypeError, match="a schedule is no input"):
        gradiva.math.sqrt(SIZE)

    def wrong(epoch: int) -> Any:
        if epoch:
            raise ZeroDivisionError("by hand")
        return 8

    bad = gradiva.schedule(wrong)
    pipe = pipeline(
        folder, lambda files: (gradiva.resize(gradiva.decoders.image(files), size=bad),)
    )
    run(pipe, 3)
    with pytest.raises(
        OperatorRuntimeError, match="ZeroDivisionError for epoch 1: by hand"
    ) as info:
        run(pipe, 3)
    assert info.value.argument == "size"
    assert info.value.operator == "resize"


@needs_opencv
def test_whole_numbers_take_the_nearest(folder: str) -> None:
    files = next(reader(folder).next_epoch(batch_size=2))[0]
    images = gradiva.decoders.image(files)
    for value, wanted in ((2.4, 2), (2.5, 3), (3.5, 4)):
        rounds = gradiva.schedule({0: value})
        found = gradiva.experimental.dilate(images, iterations=rounds)
        by_hand = gradiva.experimental.dilate(images, iterations=wanted)
        assert plain([found]) == plain([by_hand])


def test_serialized_pipelines_have_no_place_for_them(folder: str) -> None:
    with pytest.raises((OperatorTypeError, OperatorValueError), match="size") as caught:
        pipeline(
            folder, lambda f: (gradiva.resize(gradiva.decoders.image(f), size=SIZE),)
        ).serialize()
    assert "schedule" in str(caught.value)


def test_schedules_in_tuples(folder: str) -> None:
    """The ends of a range, the extents of a size: one schedule and a number, or two."""
    low = gradiva.schedule({0: 0.0, 9: 9.0}, per="step")
    side = gradiva.schedule({0: 6, 2: 12})

    def body(files: Any) -> tuple[Any, ...]:
        images = gradiva.resize(gradiva.decoders.image(files), size=(side, 9))
        angles = gradiva.random.uniform(range=(-low, low + 1), batch_size=files.batch_size)
        tall = gradiva.resize(images, size=[2 * side, side])
        return gradiva.rotate(images, angle=angles), angles, tall, images

    once = dynamic(folder, 3, body=body, **PADDED)
    assert [step[3][0][1][:2] for step in once[::3]] == [(6, 9), (9, 9), (12, 9)]
    assert [step[2][0][1][:2] for step in once[::3]] == [(12, 6), (18, 9), (24, 12)]
    assert dynamic(folder, 3, body=body, capture=True, **PADDED) == once
    assert run(pipeline(folder, body, **PADDED), 9) == once
    compiled = gradiva.capture.compile(body)
    assert dynamic(folder, 3, body=compiled, **PADDED) == once
    assert compiled.compilations == 1
    image = np.zeros((4, 6, 3), np.uint8)
    pair = gradiva.schedule({0: (1, 2)})
    with gradiva.step(epoch=0), pytest.raises(OperatorTypeError, match="one number each"):
        gradiva.resize(image, size=(pair, 3))
    with gradiva.step(epoch=0), pytest.raises((OperatorTypeError, OperatorValueError)):
        gradiva.resize(image, size=(side, "3"))  # type: ignore[arg-type]


def test_other_spellings(folder: str) -> None:
    """Classes of operators, free nodes, deferred mode, lists of batches, strict loops."""
    from gradiva import ops

    def body(files: Any) -> tuple[Any, ...]:
        images = gradiva.resize(gradiva.decoders.image(files), size=SIZE)
        return gradiva.brightness(images, brightness=LIGHT), images + ANGLE

    once = dynamic(folder, 3, body=body, **PADDED)
    pipe = gradiva.Pipeline(batch_size=3, num_threads=2, seed=5)
    light = ops.Brightness(brightness=LIGHT)
    decode, resize = ops.decoders.Image(), ops.Resize(size=SIZE)
    read = ops.readers.File(file_root=folder, random_shuffle=True, seed=3, **PADDED)
    with pipe:
        images = resize(decode(read()[0]))
        pipe.set_outputs(light(images), images + ANGLE)
    assert run(pipe, 9) == once

    free = gradiva.Pipeline(batch_size=3, num_threads=2, seed=5)
    files, _ = fn.readers.file(file_root=folder, random_shuffle=True, seed=3, **PADDED)
    free.set_outputs(*body(files))
    assert run(free, 9) == once

    def deferred(files: Any) -> tuple[Any, ...]:
        with gradiva.EvalMode.deferred:
            return body(files)

    assert dynamic(folder, 3, body=deferred, **PADDED) == once

    def sets(files: Any) -> tuple[Any, ...]:
        images = gradiva.decoders.image(files)
        first, second = gradiva.resize([images, images], size=SIZE)
        assert plain([first]) == plain([second])
        return gradiva.brightness(second, brightness=LIGHT), first + ANGLE

    assert dynamic(folder, 3, body=sets, **PADDED) == once
    loop = reader(folder, **PADDED).next_epoch(batch_size=3, capture=True, strict=True)
    assert [plain(body(files)) for files, _ in loop] == once[:3]


@pytest.mark.full
@needs_opencv
def test_the_strength_of_automatic_augmentation(folder: str) -> None:
    strength = gradiva.schedule({0: 1, 2: 9})

    def body(m: Any) -> Any:
        def augment(files: Any) -> tuple[Any, ...]:
            images = gradiva.resize(gradiva.decoders.image(files), size=(16, 16))
            return (rand_augment.rand_augment(images, n=2, m=m, seed=4),)

        return augment

    once = dynamic(folder, 3, body=body(strength), **PADDED)
    assert run(pipeline(folder, body(strength), **PADDED), 9) == once
    for epoch, m in enumerate((1, 5, 9)):
        place = slice(3 * epoch, 3 * epoch + 3)
        assert dynamic(folder, 3, body=body(m), **PADDED)[place] == once[place]
    with pytest.raises(OperatorValueError, match="from 0 to 30"):
        dynamic(folder, 1, body=body(gradiva.schedule({0: 31})))


def test_examples_in_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, [])
    monkeypatch.chdir(tmp_path)
    for function in (gradiva.schedule, gradiva.step, gradiva.schedule({0: 1}).at):
        code = textwrap.dedent((function.__doc__ or "").partition("Example:\n")[2])
        names: dict[str, Any] = {"gradiva": gradiva, "np": np}
        for line, said in re.findall(r"^(\S.*)  # (\S+)$", code, re.M):
            if "=" not in line.partition("(")[0]:
                assert repr(eval(line, names | _made(code, names))) == said
        exec(code, names)


def _made(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names that the first lines of an example define."""
    made = dict(names)
    exec("\n".join(line for line in code.splitlines() if re.match(r"\w+ = ", line)), made)
    return made
