"""Readers of dynamic mode as nodes of torchdata."""

from __future__ import annotations

from typing import Any

import pytest

import gradiva

pytest.importorskip("torch")
torchdata = pytest.importorskip("torchdata.nodes")

from gradiva.plugin.pytorch import nodes  # noqa: E402


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "one.bin"
    path.write_bytes(b"xy")
    return str(path)


def reader(file: str, batch_size: int | None = 3, **options: Any) -> nodes.Reader:
    given: dict[str, Any] = {"files": [file] * 10, "labels": list(range(10)), "seed": 3}
    return nodes.Reader(
        gradiva.readers.File, batch_size=batch_size, random_shuffle=True, **given, **options
    )


def loader(file: str) -> Any:
    mapped = nodes.DictMapper(reader(file), lambda labels: labels + 1, key="label")
    return torchdata.Loader(nodes.ToTorch(mapped))


def labels(turns: Any) -> list[list[int]]:
    return [turn[1].ravel().tolist() for turn in turns]


def test_epochs_and_places(file: str) -> None:
    """A state leads to the same place, in the middle of an epoch and at its end."""
    whole = loader(file)
    epochs = [labels(whole) for _ in range(3)]
    for epoch in epochs:
        assert sorted(label for turn in epoch for label in turn) == list(range(1, 11))
    assert epochs[0] != epochs[1]
    for taken in range(6):
        begun = loader(file)
        loop = iter(begun)
        for _ in range(taken):
            next(loop, None)
        resumed = loader(file)
        resumed.load_state_dict(begun.state_dict())
        if taken < 4:
            assert labels(resumed) == epochs[0][taken:]
        assert labels(resumed) == epochs[1]


def test_a_loop_that_is_left(file: str) -> None:
    whole = loader(file)
    epochs = [labels(whole) for _ in range(2)]
    left = loader(file)
    next(iter(left))
    assert labels(left) == epochs[1]


def test_names_and_samples(file: str) -> None:
    node = reader(file, output_names=["bytes", "number"])
    assert node.get_metadata()["epoch_size"] == 10
    with pytest.raises(RuntimeError, match="`next` before `reset`"):
        nodes.Reader.next(node)
    node.reset()
    assert {name: len(batch) for name, batch in next(node).items()} == {"bytes": 3, "number": 3}
    single = reader(file, None)
    single.reset()
    assert {name: value.shape for name, value in next(single).items()} == {
        "data": (2,),
        "label": (1,),
    }


def test_refusals(file: str) -> None:
    with pytest.raises(TypeError, match=r"a class of gradiva\.readers"):
        nodes.Reader(int, batch_size=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="names that differ"):
        reader(file, output_names=["a", "a"])
    few = reader(file, output_names=["a"])
    few.reset()
    with pytest.raises(ValueError, match="a name for each of 2 outputs"):
        next(few)
    with pytest.raises(ValueError, match="what `get_state` returned"):
        few.reset({"index": 3})
    mapped = nodes.DictMapper(reader(file), lambda value: value, key="other")
    mapped.reset()
    with pytest.raises(KeyError, match="one of 'data', 'label', got 'other'"):
        next(mapped)
    with pytest.raises(TypeError, match="expected a function"):
        nodes.DictMapper(reader(file), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a node of torchdata"):
        nodes.ToTorch([])
