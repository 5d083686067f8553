"""What holds several outputs of an operator: a list in pipelines, a tuple in dynamic mode."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalMode, fn, ops, pipeline_def, types

pytestmark = pytest.mark.core

Build = Callable[[str], Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    root: pathlib.Path = tmp_path_factory.mktemp("files")
    for name in ("a", "b"):
        (root / name).mkdir()
        (root / name / "x.jpg").write_bytes(b"123")
    return str(root)


def sound() -> Any:
    return fn.constant(fdata=[0.0, 1.0, 1.0, 0.0])


def frames() -> Any:
    return fn.reshape(fn.constant(idata=range(12)), shape=[3, 2, 2], layout="FHW")


def image() -> Any:
    return fn.constant(idata=[7] * 12, shape=(2, 2, 3), dtype=types.UINT8)


def pair() -> tuple[Any, Any]:
    return np.zeros((2, 1), np.float32), np.ones((2, 1), np.float32)


def twice(samples: Any) -> tuple[Any, Any]:
    return samples, samples


def boxes() -> Any:
    return fn.constant(fdata=[0.1, 0.1, 0.9, 0.9], shape=(1, 4))


LISTS: dict[str, tuple[int, Build]] = {
    "reader": (2, lambda folder: fn.readers.file(file_root=folder)),
    "class of a reader": (2, lambda folder: ops.readers.File(file_root=folder)()),
    "source": (2, lambda _: fn.external_source(pair, num_outputs=2)),
    "source of one": (1, lambda _: fn.external_source(lambda: pair()[:1], num_outputs=1)),
    "class of a source": (2, lambda _: ops.ExternalSource(pair, num_outputs=2)()),
    "operator": (2, lambda _: fn.nonsilent_region(sound())),
    "class": (2, lambda _: ops.NonsilentRegion()(sound())),
    "chain": (2, lambda _: ops.Compose([ops.Copy(), ops.NonsilentRegion()])(sound())),
    "as asked": (2, lambda _: fn.resize(image(), size=[1, 1], save_attrs=True)),
    "frames": (2, lambda _: fn.element_extract(frames(), element_map=[0, 2])),
    "function": (2, lambda _: fn.python_function(sound(), function=twice, num_outputs=2)),
    "no output": (0, lambda _: fn.python_function(sound(), function=print, num_outputs=0)),
    "random": (3, lambda _: fn.random_bbox_crop(boxes(), bbox_layout="xyXY")),
    "two inputs": (2, lambda _: fn.flip([image(), image()])),
    "two of two": (2, lambda _: fn.resize([image(), image()], size=[1, 1], save_attrs=True)),
}  # fmt: skip
SINGLE: dict[str, Build] = {
    "operator": lambda _: fn.flip(image()),
    "one frame": lambda _: fn.element_extract(frames(), element_map=[1]),
    "list of one": lambda _: fn.flip([image()]),
    "source": lambda _: fn.external_source(lambda: np.zeros((2, 1), np.float32)),
}


def seen(build: Build, folder: str, **options: Any) -> Any:
    """What a call returns inside of a pipeline."""
    found: list[Any] = []

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, **options)
    def pipeline() -> Any:
        found.append(build(folder))
        return types.Constant(1)

    with pipeline() as pipe:
        pipe.build()
        if options.get("debug"):
            pipe.run()
    return found[0]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "conditionals": {"enable_conditionals": True},
    "debug": {"debug": True},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("count", "build"), LISTS.values(), ids=LISTS)
def test_a_list(count: int, build: Build, options: dict[str, Any], folder: str) -> None:
    made = seen(build, folder, **options)
    assert type(made) is list
    assert len(made) == count


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("build", SINGLE.values(), ids=SINGLE)
def test_one_output_is_no_list(build: Build, options: dict[str, Any], folder: str) -> None:
    assert not isinstance(seen(build, folder, **options), list | tuple)


def test_outside_of_pipelines(folder: str) -> None:
    """What is made before there is a pipeline is a list, too, and each pipeline may take it."""
    made = fn.readers.file(file_root=folder)
    assert type(made) is list
    with gradiva.Pipeline(batch_size=2, num_threads=1, device_id=None) as pipe:
        pipe.set_outputs(*made)
        assert [np.asarray(one).size for one in pipe.run()[1]] == [1, 1]


def test_a_list_is_returned(folder: str) -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipeline() -> Any:
        return fn.readers.file(file_root=folder)

    with pipeline() as pipe:
        assert [bytes(np.asarray(one)) for one in pipe.run()[0]] == [b"123", b"123"]


def test_a_tuple_in_the_other_branch() -> None:
    @pipeline_def(batch_size=2, num_threads=1, device_id=None, enable_conditionals=True)
    def pipeline() -> Any:
        samples = fn.external_source(
            lambda: [np.array(row, np.float32) for row in ([0, 9, 0], [0, 0, 9])]
        )
        first = samples[1] > 0
        if first:
            region = fn.nonsilent_region(samples, window_length=1)
        else:
            region = (types.Constant(5), types.Constant(6))
        return tuple(region)

    with pipeline() as pipe:
        start, length = pipe.run()
    assert [int(np.asarray(one)) for one in start] == [1, 5]
    assert [int(np.asarray(one)) for one in length] == [1, 6]


@pytest.mark.parametrize("mode", [EvalMode.eager, EvalMode.deferred])
def test_a_tuple_in_dynamic_mode(mode: EvalMode, folder: str) -> None:
    with mode:
        made = gradiva.nonsilent_region(gradiva.batch([np.array([0, 1, 0], np.float32)]))
        assert type(made) is tuple
        assert type(next(iter(gradiva.readers.File(file_root=folder).next_epoch(2)))) is tuple


def test_a_tuple_in_captured_loops(folder: str) -> None:
    reader = gradiva.readers.File(file_root=folder)
    for batch in reader.next_epoch(batch_size=1, capture=True):
        assert type(batch) is tuple
        audio = gradiva.cast(batch[0], dtype=gradiva.float32)
        assert type(gradiva.nonsilent_region(audio)) is tuple


def test_one_output_is_not_iterable() -> None:
    """So scripts can ask whether there are several; a loop over its samples is an error."""
    node = fn.random.uniform()
    assert not isinstance(node, Iterable)
    with pytest.raises(TypeError, match="not iterable"):
        list(node)
    with pytest.raises(TypeError, match=r"not iterable|cannot unpack"):
        _, _ = node
    assert isinstance(fn.nonsilent_region(audio_of_data()), Iterable)


def audio_of_data() -> Any:
    return fn.external_source(lambda: np.zeros((2, 4), np.float32))
