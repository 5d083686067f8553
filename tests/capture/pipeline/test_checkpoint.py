"""Checkpoints of pipelines: going on bit by bit at every step, and refusing other graphs."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import gradiva
from gradiva import GradivaError, Pipeline, fn, pipeline_def
from gradiva.eager.contexts.checkpoint_files import CheckpointError, CheckpointNotFoundError
from tests.capture.loop.loops import bits


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Seven small pictures, one of them cut."""
    root = tmp_path_factory.mktemp("pictures")
    noise = np.random.default_rng(5)
    for number in range(7):
        (root / f"{number % 2}").mkdir(exist_ok=True)
        path = root / f"{number % 2}" / f"{number}.png"
        Image.fromarray(noise.integers(0, 255, (12, 12, 3), np.uint8)).save(path)
        if number == 4:
            path.write_bytes(path.read_bytes()[:60])
    return str(root)


def training_pipeline(root: str, stddev: float = 2.0, shuffle: bool = True, **options: Any) -> Any:
    """Shuffled, augmented, several epochs, and an error in each of them."""

    @pipeline_def(batch_size=3, num_threads=2, enable_checkpointing=True)
    def training() -> Any:
        files, labels = fn.readers.file(file_root=root, random_shuffle=shuffle, name="files")
        images = fn.decoders.image(files)
        images = fn.flip(images, horizontal=fn.random.coin_flip())
        noise = fn.random.normal(images, stddev=stddev)
        return images + noise, labels, fn.random.uniform(range=(0.0, 1.0))

    return training(**options)


def step(pipe: Pipeline) -> str:
    """What one `run` gives, as a digest; an error by its text."""
    try:
        outputs = pipe.run()
    except StopIteration:
        return "the end"
    except GradivaError as error:
        return str(error).splitlines()[0]
    return hashlib.sha256(repr([bits(batch) for batch in outputs]).encode()).hexdigest()


def resumed(make: Callable[..., Pipeline], held: Any, count: int, **options: Any) -> list[str]:
    pipe = make(checkpoint=held, **options)
    found = [step(pipe) for _ in range(count)]
    pipe.close()
    return found


def test_every_step_of_a_training(folder: str) -> None:
    steps = 12  # of 3 samples: five epochs of 7
    pipe = training_pipeline(folder, seed=11)
    held, whole = [pipe.checkpoint()], []
    for _ in range(steps):
        whole.append(step(pipe))
        held.append(pipe.checkpoint())
    pipe.close()
    assert len({one for one in whole if "decoders" not in one}) == 7
    assert any("decoders.image" in one for one in whole)
    ways: list[dict[str, Any]] = [
        {},
        {"num_threads": 1},
        {"prefetch_queue_depth": 5, "num_threads": 3},
        {"exec_async": False},
        {"prefetch_queue_depth": 1},
    ]
    for number, one in enumerate(held):
        found = resumed(
            lambda **options: training_pipeline(folder, **options),
            one,
            steps - number,
            **ways[number % len(ways)],
        )
        assert found == whole[number:], number


def test_what_is_made_ahead_does_not_count(folder: str) -> None:
    made = []
    for depth, threads in ((1, 1), (6, 2)):
        pipe = training_pipeline(folder, seed=2, prefetch_queue_depth=depth, num_threads=threads)
        for _ in range(4):
            step(pipe)
        made.append(pipe.checkpoint())
        pipe.close()
    assert made[0] == made[1]


def test_a_checkpoint_of_a_resumed_pipeline(folder: str) -> None:
    whole = training_pipeline(folder, seed=4)
    expected = [step(whole) for _ in range(9)]
    whole.close()
    found, held = [], None
    for _ in range(9):
        pipe = training_pipeline(folder, seed=4, checkpoint=held)
        assert not pipe.is_restored_from_checkpoint
        found.append(step(pipe))
        assert pipe.is_restored_from_checkpoint == (held is not None)
        held = pipe.checkpoint().decode()
        pipe.close()
    assert found == expected


def test_seeds(folder: str) -> None:
    gradiva.random.set_seed(77)
    pipe = training_pipeline(folder)
    step(pipe)
    held = pipe.checkpoint()
    expected = [step(pipe) for _ in range(4)]
    gradiva.random.set_seed(78)
    assert resumed(lambda **o: training_pipeline(folder, **o), held, 4) == expected
    assert resumed(lambda **o: training_pipeline(folder, **o), held, 4, seed=77) == expected
    with pytest.raises(ValueError, match=r"argument `seed`.*expected 77.*got 78"):
        training_pipeline(folder, seed=78, checkpoint=held).build()
    with pytest.raises(ValueError, match=r"argument `batch_size`.*expected 3.*got 4"):
        training_pipeline(folder, batch_size=4, checkpoint=held).build()
    pipe.close()


def test_without_sources() -> None:
    def make(**options: Any) -> Pipeline:
        @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
        def noise() -> Any:
            return fn.random.uniform(range=(0.0, 1.0))

        return noise(**options)

    pipe = make(seed=1)
    step(pipe)
    held = pipe.checkpoint()
    expected = [step(pipe), step(pipe)]
    assert expected[0] != expected[1]
    assert resumed(make, held, 2) == expected


def make_graph(
    *steps: Callable[[Any], Any], reader: dict[str, Any] | None = None, swap: bool = False
) -> Callable[..., Pipeline]:
    def make(**options: Any) -> Pipeline:
        @pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True)
        def graph() -> Any:
            value = fn.external_source(source, batch=False, **(reader or {}))
            other = value
            for one in steps:
                value = one(value)
            return (other, value) if swap else (value, other)

        return graph(**options)

    return make


def source(info: Any) -> Any:
    return np.full((4, 4, 3), info.idx_in_epoch % 200, np.uint8)


def flip(value: Any) -> Any:
    return fn.flip(value, horizontal=1)


def test_another_graph_is_named() -> None:
    def held_of(make: Any) -> bytes:
        pipe = make(seed=0)
        pipe.run()
        held: bytes = pipe.checkpoint()
        pipe.close()
        return held

    first = held_of(make_graph(flip, lambda x: x * 2))
    cases = [
        (
            make_graph(lambda x: fn.flip(x, horizontal=0), lambda x: x * 2),
            "operator 2, `flip`, differs: argument `horizontal` was 1, and is 0",
        ),
        (
            make_graph(lambda x: fn.flip(x, vertical=1), lambda x: x * 2),
            "operator 2, `flip`, differs: argument `vertical` was 0, and is 1",
        ),
        (
            make_graph(flip, lambda x: x * 3),
            "operator 3, `mul`, differs: input 1 was the constant ",
        ),
        (make_graph(flip, lambda x: x + 2), "operator 3 was `mul`, and is `add`"),
        (make_graph(flip), "operator 3, `mul`, is not there any more"),
        (make_graph(flip, lambda x: x * 2, flip), "operator 4, `flip`, is new"),
        (make_graph(flip, lambda x: x * 2, swap=True), "the outputs were: "),
        (
            make_graph(flip, lambda x: x * 2, reader={"layout": "HWC"}),
            "operator 1, `external_source`, differs: argument `layout` was not given, and is ",
        ),
        (
            make_graph(flip, lambda x: x * 2, reader={"name": "data"}),
            "operator 1, `external_source` .data., had the name None, and has 'data'",
        ),
    ]
    for make, text in cases:
        with pytest.raises(CheckpointError, match=text):
            make(checkpoint=first).build()
    pipe = make_graph(flip, lambda x: x * 2, reader={"no_copy": True})(checkpoint=first)
    pipe.build()
    pipe.close()

    random = held_of(make_graph(lambda x: fn.random.normal(x, seed=3)))
    with pytest.raises(
        CheckpointError, match=r"`random[.]normal`, differs: argument `seed` was 3, "
    ):
        make_graph(lambda x: fn.random.normal(x, seed=4))(checkpoint=random).build()


def test_a_moved_data_set(folder: str, tmp_path: Path) -> None:
    pipe = training_pipeline(folder, seed=5)
    for _ in range(3):
        step(pipe)
    held = pipe.checkpoint()
    expected = [step(pipe) for _ in range(4)]
    pipe.close()
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert resumed(lambda **o: training_pipeline(str(moved), **o), held, 4)[-1] == expected[-1]
    (moved / "0" / "0.png").rename(moved / "0" / "00.png")
    with pytest.raises(CheckpointError, match=r"readers.file \(files\): the data are not those"):
        training_pipeline(str(moved), checkpoint=held).build()
    (moved / "0" / "00.png").unlink()
    with pytest.raises(CheckpointError, match=r"'files': 7.*'files': 6"):
        training_pipeline(str(moved), checkpoint=held).build()


def test_context(folder: str, tmp_path: Path) -> None:
    context = {"step": 7, "loss": 0.1, "mask": np.arange(3), "pair": (1, b"\0")}
    pipe = training_pipeline(folder, seed=5)
    held = pipe.checkpoint(tmp_path / "file", context=context)
    assert (tmp_path / "file").read_bytes() == held
    assert pipe.checkpoint_context is None
    pipe.close()
    found = training_pipeline(folder, checkpoint=tmp_path / "file").checkpoint_context
    assert found.pop("mask").tolist() == [0, 1, 2]
    assert found == {"step": 7, "loss": 0.1, "pair": (1, b"\0")}
    with pytest.raises(TypeError, match=r"`context`\['x'\] cannot be saved"):
        pipe.checkpoint(context={"x": object()})
    with pytest.raises(TypeError, match="argument `context`: expected a dict"):
        pipe.checkpoint(context=3)


def test_refusals(folder: str, tmp_path: Path) -> None:
    pipe = training_pipeline(folder, enable_checkpointing=False)
    with pytest.raises(RuntimeError, match="without enable_checkpointing=True"):
        pipe.checkpoint()
    held = training_pipeline(folder).checkpoint()
    with pytest.raises(RuntimeError, match="needs enable_checkpointing=True"):
        training_pipeline(folder, checkpoint=held, enable_checkpointing=False)
    for given, error, text in (
        (b"", CheckpointError, "the checkpoint is empty"),
        ("", CheckpointError, "the checkpoint is empty"),
        (b"rubbish", CheckpointError, "this is no checkpoint of gradiva"),
        (held[:-1], CheckpointError, "the checkpoint is cut"),
        (held[:-9], CheckpointError, "the checkpoint is cut"),
        (held + b"x\n", CheckpointError, "the checkpoint is damaged"),
        (5, TypeError, r"argument `checkpoint`: expected what `checkpoint\(\)` returned"),
        (str(tmp_path / "none"), CheckpointNotFoundError, "No such file"),
        (tmp_path / "none", FileNotFoundError, "No such file"),
        (tmp_path, RuntimeError, "the checkpoint cannot be read"),
        (gradiva_state(), CheckpointError, "of another kind"),
    ):
        with pytest.raises(error, match=text):
            training_pipeline(folder, checkpoint=given)
    with pytest.raises(RuntimeError, match="cannot be saved"):
        training_pipeline(folder).checkpoint(tmp_path / "no" / "folder")


def gradiva_state() -> str:
    held = gradiva.checkpoint.Checkpoint()
    held.register(gradiva.random.RNG(1))
    held.collect()
    return held.serialize()
