"""Links, pipes and locks in the place of a checkpoint; states of the wrong kinds in one that is
whole; names of files that are no UTF-8."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva import GradivaError, OperatorRuntimeError, fn
from gradiva.checkpoint import Checkpoint
from gradiva.eager.contexts import checkpoint_files

PHOTOGRAPHS = Path(gradiva.__file__).parent / "photographs"


def saved(path: Path) -> None:
    checkpoint = Checkpoint()
    checkpoint.register(gradiva.random.RNG(1), "a")
    checkpoint.collect()
    checkpoint.save(str(path))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.symlink(victim, tmp_path / ".a.saving")
    with pytest.raises(OperatorRuntimeError, match="cannot be saved"):
        saved(tmp_path / "a")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a").exists()


def test_a_second_name_is_not_written(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.link(victim, tmp_path / ".a.saving")
    with pytest.raises(OperatorRuntimeError, match="second name"):
        saved(tmp_path / "a")
    assert victim.read_text() == "precious"


def test_pipes_are_no_checkpoints(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OperatorRuntimeError, match="no regular file"):
        Checkpoint().load(str(tmp_path / "pipe"))
    with pytest.raises(OperatorRuntimeError, match="no regular file"):
        pipeline(checkpoint=str(tmp_path / "pipe")).build()
    os.mkfifo(tmp_path / ".a.saving")
    with pytest.raises(OperatorRuntimeError, match="no regular file"):
        saved(tmp_path / "a")


def test_a_lock_is_not_waited_for_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_files, "_PATIENCE", 0.1)
    with open(tmp_path / ".a.saving", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OperatorRuntimeError, match="another process has been saving it"):
            saved(tmp_path / "a")
    saved(tmp_path / "a")
    assert (tmp_path / "a").exists()


def pipeline(**options: Any) -> Any:
    @gradiva.pipeline_def(batch_size=2, num_threads=1, enable_checkpointing=True, **options)
    def program() -> Any:
        encoded, _ = fn.readers.file(file_root=str(PHOTOGRAPHS), random_shuffle=True, name="r")
        return encoded

    return program()


ABSURD: list[Any] = [2**63, 2**64, -(2**63) - 1, 1e308, -1, "1", None, [], {}, [1] * 40, True]


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the values of a checkpoint stand."""
    found = [path] if path else []
    items: Any = content.items() if isinstance(content, dict) else ()
    items = enumerate(content) if isinstance(content, list) else items
    return found + [one for key, value in items for one in places(value, (*path, key))]


def refusals(content: Any, use: Callable[[str], None]) -> float:
    """The share of absurd values that `use` refuses, with an error of ours."""
    tried = refused = 0
    for number, path in enumerate(places(content)):
        if path[0] == "graph" and number % 9:
            continue
        for value in ABSURD:
            changed: Any = json.loads(json.dumps(content))
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            tried += 1
            try:
                use(checkpoint_files.pack(changed))
            except GradivaError:
                refused += 1
    assert tried > 50
    return refused / tried


def test_values_of_the_wrong_kind() -> None:
    pipe = pipeline()
    pipe.run()
    text = pipe.checkpoint()
    pipe.close()

    def use(text: str) -> None:
        again = pipeline(checkpoint=text)
        try:
            again.run()
        except StopIteration:  # where it says that the data have ended
            pass
        finally:
            again.close()

    assert refusals(checkpoint_files.unpack(text, "pipeline"), use) > 0.5


def test_values_of_the_wrong_kind_in_dynamic_mode(tmp_path: Path) -> None:
    def registered(checkpoint: Checkpoint) -> Any:
        reader = gradiva.readers.File(file_root=str(PHOTOGRAPHS), random_shuffle=True)
        checkpoint.register(reader, "reader")
        checkpoint.register(gradiva.random.RNG(1), "generator")
        return reader

    def use(text: str) -> None:
        (tmp_path / "b").write_text(text)
        checkpoint = Checkpoint()
        checkpoint.load(str(tmp_path / "b"))
        next(registered(checkpoint).next_epoch(2), None)

    whole = Checkpoint()
    registered(whole)
    whole.collect()
    whole.save(str(tmp_path / "a"))
    text = (tmp_path / "a").read_text()
    use(text)
    assert refusals(checkpoint_files.unpack(text, "dynamic"), use) > 0.3


def test_names_that_are_no_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jpg")
    with open(name, "wb") as file:
        file.write(b"x")
    with pytest.raises(OperatorRuntimeError) as caught:
        gradiva.imread([name])
    assert "\\udcff.jpg" in str(caught.value)
    assert str(caught.value).encode()
    with pytest.warns(UserWarning, match="udcff"), gradiva.Quarantine() as bad:
        gradiva.imread([name], on_error="skip")
    for kind in ("csv", "jsonl"):
        bad.save(tmp_path / f"bad.{kind}")
    assert os.fsencode(name) in (tmp_path / "bad.csv").read_bytes()
    (line,) = (tmp_path / "bad.jsonl").read_text().splitlines()
    assert json.loads(line)["file"] == name
