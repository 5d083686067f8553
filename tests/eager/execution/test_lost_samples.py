"""What sees more than one sample at a time works on those that are left (`Batch.valid`): the same
bits in every mode, and those of the same samples in batches that never had more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, random, readers
from tests.capture.loop.loops import bits
from tests.eager.execution.damaged import MIXED, MODES, eager, make, piped

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")


def decoded(files: Any, policy: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files, on_error=policy), size=(7, 6))


def permuted(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
    images, labels = gradiva.align(decoded(files, policy), labels)
    order = gradiva.batch_permutation(batch_size=images.batch_size)
    return gradiva.permute_batch(images, indices=order), order, labels


def statistics(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
    images = decoded(files, policy)
    whole = gradiva.normalize(images, batch=True)
    means = gradiva.reductions.mean(images, axes=(0, 1))
    return whole, means, gradiva.normalize(images, batch=True, axes=(0, 1))


def joined(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
    """Two decoders: the second one refuses what is too small for its window, too."""
    one = decoded(files, policy)
    other = gradiva.decoders.image_crop(files, crop=(7, 6), on_error=policy)
    one, other, labels = gradiva.align(one, other, labels)
    return gradiva.stack(one, other), gradiva.cat(other, one, axis=0), labels, one - other


def drawn(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
    """Random values before and after samples are lost, with and without inputs."""
    noise = random.uniform(batch_size=labels.batch_size)
    images = decoded(files, policy)
    images, noise, labels = gradiva.align(images, noise, labels)
    after = random.uniform(batch_size=images.batch_size)
    turned = gradiva.rotate(images, angle=random.normal(batch_size=images.batch_size))
    one = gradiva.brightness(images, brightness=random.uniform(range=(0.5, 1.5)))
    return noise, after, turned, random.normal(images), labels * after, images, one


def lost_twice(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
    """A view, a group, an operator for each frame and one that is alone, all after losses."""
    images = gradiva.decoders.image(files, on_error=policy)
    small = gradiva.flip(gradiva.resize(images, size=(5, 9)), horizontal=1)
    shape = gradiva.shapes(images)
    images, small, shape, labels = gradiva.align(images, small, shape, labels)
    return gradiva.transpose(images, perm=(2, 0, 1)), small, shape + labels, images.slice[1:3]


def shared(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
    """One random value for all samples, drawn after some are lost, perhaps the first one."""
    images = gradiva.decoders.image(files, on_error=policy)
    return images, gradiva.brightness(images, brightness=random.uniform(range=(0.5, 1.5)))


BODIES = [permuted, statistics, joined, drawn, lost_twice, shared]


@pytest.fixture(name="paths")
def damaged(tmp_path: Path) -> list[str]:
    return make(tmp_path / "files", MIXED)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("body", BODIES)
def test_same_bits_in_all_modes(mode: Any, body: Any, paths: list[str]) -> None:
    for size in (4, 12, 1):
        assert mode(body, paths, size, "skip") == eager(body, paths, size, "skip"), size


@pytest.mark.parametrize("mode", [eager, *MODES])
@pytest.mark.parametrize("body", [statistics, joined, lost_twice])
def test_the_rest_is_as_if_it_had_been_alone(mode: Any, body: Any, tmp_path: Path) -> None:
    damaged = make(tmp_path / "damaged", MIXED)
    whole = make(tmp_path / "whole", {})
    random.set_seed(5)
    reader = readers.File(files=damaged, random_shuffle=True, on_error="skip")
    for number, (_, labels) in enumerate(reader.next_epoch(6)):
        left = [int(label[0]) for label in labels.as_array() if int(label[0]) not in MIXED]
        names = [whole[index] for index in left]
        ((files, _),) = readers.File(files=names, labels=left).next_epoch(len(left))
        wanted = body(files, gradiva.as_batch(np.array(left, np.int32)[:, None]), "skip")
        found = mode(body, damaged, 6, "skip")[number]
        for one, other in zip(found, map(bits, wanted), strict=True):
            assert one == other


@pytest.mark.parametrize("mode", [eager, *MODES])
@pytest.mark.parametrize("body", BODIES)
def test_none_is_left(mode: Any, body: Any, tmp_path: Path) -> None:
    lost = make(tmp_path / "lost", dict.fromkeys(range(4), "cut"), 4)
    good = make(tmp_path / "good", {}, 4)
    found, whole = mode(body, lost, 2, "skip"), mode(body, good, 2, "skip")
    for outputs, others in zip(found, whole, strict=True):
        for (dtype, layout, samples), (other, same, _) in zip(outputs, others, strict=True):
            assert (dtype, layout, samples) == (other, same, [])


def test_functions_see_what_is_left(paths: list[str]) -> None:
    """In a pipeline samples leave all values at once, and in dynamic mode those that hold them."""
    seen: list[list[int]] = []

    def note(labels: Any) -> Any:
        seen.append([int(label[0]) for label in labels])
        return labels

    def body(files: Any, labels: Any, policy: Any) -> tuple[Any, ...]:
        images = decoded(files, policy)
        images, labels = gradiva.align(images, labels)
        kept = gradiva.python_function(labels, function=note, batch_processing=True)
        return images, kept

    wanted = eager(body, paths, 4, "skip")
    noted = list(seen)
    assert [len(one) for one in noted] == [len(step[1][2]) for step in wanted]
    for options in ({}, {"exec_async": False}):
        seen.clear()
        assert piped(body, paths, 4, "skip", **options) == wanted
        assert seen[: len(noted)] == noted


@pytest.mark.parametrize("threads", [1, 3])
def test_branches_and_what_they_are_merged_with(threads: int, paths: list[str]) -> None:
    """Samples that are lost in a branch leave all values, inside of it and outside."""

    @gradiva.pipeline_def(batch_size=5, num_threads=threads, seed=3, enable_conditionals=True)
    def pipeline(whole: bool) -> Any:
        files, labels = fn.readers.file(files=paths, on_error="skip")
        shapes, noise = labels * 2, fn.random.uniform(range=(0.0, 1.0))
        if whole:
            images = fn.resize(fn.decoders.image(files, on_error="skip"), size=(4, 4))
            fourth = images[0, 0, 0] * 0 + 4
        if labels[0] % 3 == 1:
            if not whole:
                images = fn.resize(fn.decoders.image(files, on_error="skip"), size=(4, 4))
                fourth = images[0, 0, 0] * 0 + 4
            inner = fourth + 1
            if labels[0] > 6:
                inner = inner + 2
            where = fn.random.uniform(range=(1.0, 2.0))
        else:
            inner = fn.cast(labels[0], dtype=gradiva.types.INT32)
            where = fn.random.uniform(range=(3.0, 4.0))
        order = fn.batch_permutation()
        return labels[0], inner, where, noise, fn.permute_batch(shapes, indices=order), order

    for whole in (False, True):
        pipe = pipeline(whole)
        found = []
        for _ in range(4):
            label, inner, where, noise, shapes, order = map(np.asarray, pipe.run())
            assert len({len(one) for one in (label, inner, where, noise, shapes, order)}) == 1
            assert sorted(order.ravel().tolist()) == list(range(len(label)))
            assert (shapes[:, 0] == 2 * label[order.ravel()]).all()
            for number, value, drawn in zip(label, inner, where, strict=True):
                inside = number % 3 == 1
                assert value == ((7 if number > 6 else 5) if inside else number)
                assert (1 <= drawn < 2) if inside else (3 <= drawn < 4)
            found += label.tolist()
        missing = [7, 10]
        lost = [i for i in MIXED if whole or i % 3 == 1 or i in missing]
        once = [index for index in range(12) if index not in lost]
        assert found[: len(once)] == once
        pipe.close()


@pytest.mark.parametrize("where", ["host", "read-only"])
def test_losses_one_after_the_other(where: str, paths: list[str]) -> None:
    """A second operator that loses samples counts among all of the step, whatever its input is
    copied to."""
    data = [np.frombuffer(Path(path).read_bytes(), np.uint8) for path in make_readable(paths)]
    if where == "host":
        data = [one.copy() for one in data]

    @gradiva.pipeline_def(batch_size=len(data), num_threads=2)
    def pipeline() -> Any:
        files = fn.external_source(lambda: data, batch=True)
        numbers = fn.external_source(lambda: np.arange(len(data), dtype=np.int32), batch=True)
        gradiva.peek_image_shape(files, on_error="skip")
        images = fn.resize(fn.decoders.image(files, on_error="skip"), size=(4, 4))
        return numbers, images, fn.decoders.image_crop(files, crop=(2, 2), on_error="skip")

    pipe = pipeline()
    for _ in range(3):
        numbers, images, corners = pipe.run()
        assert np.asarray(numbers).tolist() == [0, 3, 5, 6, 7, 9, 10, 11]
        assert len(images) == len(corners) == 8
    assert len(pipe.quarantine) >= 12
    pipe.close()


def test_an_error_after_losses_names_the_sample_of_the_step(tmp_path: Path) -> None:
    files = make(tmp_path / "images", {1: "text"}, 6)

    @gradiva.pipeline_def(batch_size=6, num_threads=2)
    def pipeline() -> Any:
        images = fn.decoders.image(fn.readers.file(files=files)[0], on_error="skip")
        return fn.resize(fn.slice(images, start=[0], shape=[28], axes=[1]), size=(4, 4))

    with pytest.raises(gradiva.OperatorValueError, match=r"in sample 3, file \S*03\.jpg"):
        pipeline().run()  # number 3 has 27 columns


def make_readable(paths: list[str]) -> list[str]:
    """Those that cannot be read are left out of the list, others take their places."""
    return [path if index not in (7, 10) else paths[0] for index, path in enumerate(paths)]


def test_a_batch_that_has_left_has_no_mask(paths: list[str]) -> None:
    ((files, labels),) = readers.File(files=paths, on_error="skip").next_epoch(12)
    images = gradiva.decoders.image(files, on_error="skip")
    assert [one.valid for one in (files, labels, images)] == [None] * 3
    assert len(images) < len(files) == len(labels) < 12
    for values in readers.File(files=paths, on_error="skip").next_epoch(12, capture=True):
        image = gradiva.decoders.image(values[0], on_error="skip")
        assert image.evaluate().valid is None
