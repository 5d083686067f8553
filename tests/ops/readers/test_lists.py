"""Nested folders, labels by a rule, and parts of a data set."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def

NAMES = ("a/x/1_cat.jpg", "a/2_dog.jpg", "b/y/z/3_cat.jpg", "4_eel.jpg", "b/5_dog.jpg")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (tmp_path / "data" / "a" / "notes.txt").write_text("none")
    (tmp_path / "data" / "a" / "loop").symlink_to(tmp_path / "data")
    return tmp_path / "data"


def listed(**arguments: Any) -> dict[str, int]:
    """Labels by what is in the files, which is their names."""
    (outputs,) = gradiva.readers.File(**arguments).next_epoch(batch_size=1000)
    files, labels = outputs
    names = [sample.tobytes().decode() for sample in files.arrays()]
    return dict(zip(names, labels.as_array().ravel().tolist(), strict=True))


def test_nested_folders(folder: Path) -> None:
    assert listed(file_root=folder) == {"a/2_dog.jpg": 0, "b/5_dog.jpg": 1}
    found = listed(file_root=folder, recursive=True)
    assert list(found.items()) == [
        ("a/2_dog.jpg", 0),
        ("a/x/1_cat.jpg", 0),
        ("b/5_dog.jpg", 1),
        ("b/y/z/3_cat.jpg", 1),
    ]
    some = listed(file_root=folder, recursive=True, dir_filters="b", file_filters="*cat*")
    assert some == {"b/y/z/3_cat.jpg": 0}


@pytest.mark.parametrize("recursive", [False, True])
def test_pictures_that_the_usual_filters_leave_out(folder: Path, recursive: bool) -> None:
    for name in ("a/1.gif", "a/2.GIF", "b/3.heic"):
        (folder / name).write_bytes(b"x")
    with pytest.warns(UserWarning, match=r"3 files in .* left out \(2 \.gif, 1 \.heic\)"):
        found = listed(file_root=folder, recursive=recursive)
    assert len(found) == (4 if recursive else 2)
    chosen = listed(file_root=folder, recursive=recursive, file_filters=["*.jpg"])
    assert chosen == found


ANIMALS = {"cat": 0, "dog": 1, "eel": 2}


@pytest.mark.parametrize(
    ("rule", "label"),
    [
        (r"_(\w+)\.", lambda name: ANIMALS[name[-7:-4]]),
        (re.compile(r"_(CAT|DOG|EEL)", re.IGNORECASE), lambda name: ANIMALS[name[-7:-4]]),
        (r"\d", lambda name: int(re.findall(r"\d", name)[0])),
        (lambda name: name[-7:-4], lambda name: ANIMALS[name[-7:-4]]),
        (len, len),
        (lambda name: np.int64(-3), lambda name: -3),
    ],
)
def test_labels_by_a_rule(folder: Path, rule: Any, label: Any) -> None:
    assert listed(file_root=folder, recursive=True, label_fn=rule) == {
        name: label(name) for name in NAMES
    }
    flat = [name for name in NAMES if name.count("/") < 2]
    assert listed(file_root=folder, label_fn=rule).keys() == set(flat)
    given = listed(file_root=folder, files=flat, label_fn=rule)
    assert given == listed(file_root=folder, label_fn=rule)


def test_parts_of_a_data_set(folder: Path, tmp_path: Path) -> None:
    names = [f"{number:03}_{'cat' if number % 2 else 'dog'}.jpg" for number in range(400)]
    for name in names:
        (folder / "a" / name).write_bytes(name.encode())
    everything = listed(file_root=folder, label_fn=r"_(\w+)\.")
    parts = [
        listed(file_root=folder, label_fn=r"_(\w+)\.", split=split)
        for split in ((0, 0.8), (0.8, 0.9), (0.9, 1))
    ]
    assert sum(map(len, parts)) == len(everything)
    assert {name: label for part in parts for name, label in part.items()} == everything
    assert 280 < len(parts[0]) < 360
    # They stay where they are: with fewer files, in another place, named one by one, in a list.
    for name in names[::2]:
        (folder / "a" / name).unlink()
    folder.rename(tmp_path / "elsewhere")
    root = tmp_path / "elsewhere"
    fewer = listed(file_root=root, label_fn=r"_(\w+)\.", split=(0, 0.8))
    assert fewer.keys() == parts[0].keys() - set(names[::2])
    files = [f"a/{name}" for name in names[1::2]]
    (root / "list.txt").write_text("".join(f"{name} 7\n" for name in files))
    expected = {name for name in names[1::2] if name in parts[0]}
    for arguments in ({"file_root": root, "files": files}, {"file_list": root / "list.txt"}):
        assert listed(**arguments, split=(0, 0.8)).keys() == expected


def test_parts_of_arrays(tmp_path: Path) -> None:
    for number in range(30):
        np.save(tmp_path / f"{number}.npy", np.int64(number))
    found = []
    for split in ((0, 0.5), (0.5, 1)):
        for batch in gradiva.readers.Numpy(file_root=tmp_path, split=split).next_epoch(4):
            found += batch.as_array().ravel().tolist()
    assert sorted(found) == list(range(30))


def test_in_a_pipeline(folder: Path) -> None:
    @pipeline_def(batch_size=5, num_threads=1, enable_checkpointing=True)
    def pipe() -> Any:
        return fn.readers.file(file_root=folder, recursive=True, label_fn=r"_(\w+)\.")

    with pipe() as made:
        _, labels = made.run()
        saved = made.checkpoint()
    assert labels.as_array().ravel().tolist() == [2, 1, 0, 1, 0]
    pipe(checkpoint=saved).close()


def raising(name: str) -> int:
    raise KeyError(name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label_fn": "fish"}, r"`label_fn`: .*'fish' is found, got '4_eel.jpg'"),
        ({"label_fn": "(fish)?"}, "`label_fn`: .*the group"),
        ({"label_fn": "("}, "`label_fn`: expected a regular expression"),
        ({"label_fn": 3}, "`label_fn`: .*got 3"),
        ({"label_fn": lambda name: None}, "`label_fn`: .*got None"),
        ({"label_fn": lambda name: 2**31}, "`label_fn`: .*int32, got 2147483648"),
        ({"label_fn": raising}, "`label_fn`: .*raised KeyError"),
        ({"label_fn": len, "files": ["a"], "labels": [1]}, "either `labels` or `label_fn`"),
        ({"recursive": True, "files": ["a"]}, "`recursive`: "),
        ({"split": (0.5, 0.2)}, r"`split`: .*got \(0.5, 0.2\)"),
        ({"split": (0, 1.5)}, "`split`: "),
        ({"split": 0.5}, "`split`: "),
        ({"split": (float("nan"), 1)}, "`split`: "),
        ({"split": (0, 1e-9)}, "`split`: .*none of 2"),
        ({"recursive": True, "file_filters": "*.gif"}, "`file_root`: .*with 5 others"),
    ],
)
def test_refusals(folder: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gradiva.GradivaError, match=message):
        gradiva.readers.File(file_root=folder, **arguments)
