"""Of readers in dynamic mode: `len` of a reader and of its loops, and the names of classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tqdm import tqdm

import gradiva
from gradiva.samplers import Bucket

pytestmark = pytest.mark.core

readers: Any = gradiva.readers

SIZES = (3, 4, 50, 52, 5, 51, 4)
CAPTURE = pytest.mark.parametrize("capture", [False, True], ids=["plain", "captured"])


@pytest.fixture(name="root")
def made_root(tmp_path: Path) -> Path:
    """Seven files in two of three folders."""
    for number, size in enumerate(SIZES):
        folder = tmp_path / "data" / ("cats" if number < 4 else "dogs")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.jpg").write_bytes(bytes(size))
    (tmp_path / "data" / "birds").mkdir()
    return tmp_path / "data"


def turns(loop: Any) -> int:
    return sum(1 for _ in loop)


def test_length_of_a_reader_is_that_of_its_epoch(root: Path) -> None:
    assert len(readers.File(file_root=root)) == 7
    assert len(readers.File(file_root=root, lazy_init=True)) == 7
    assert [len(readers.File(file_root=root, num_shards=2, shard_id=k)) for k in (0, 1)] == [3, 4]
    assert len(readers.File(file_root=root, num_shards=2, pad_last_batch=True)) == 4
    weighted = readers.File(file_root=root, sampler="weighted", weights=[1] * 7, epoch_size=20)
    assert len(weighted) == 20
    assert bool(readers.File(file_root=root))


@CAPTURE
@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 8, None])
def test_length_of_a_loop_is_the_number_of_its_turns(
    root: Path, batch_size: int | None, capture: bool
) -> None:
    reader = readers.File(file_root=root)
    for _epoch in range(3):
        loop = reader.next_epoch(batch_size=batch_size, capture=capture)
        expected = -(-7 // (batch_size or 1))
        assert len(loop) == expected
        lengths = [len(loop) for _ in loop]
        assert lengths == [expected] * expected
        assert len(loop) == expected


@CAPTURE
def test_a_loop_that_goes_on_has_what_is_left(root: Path, capture: bool) -> None:
    reader = readers.File(file_root=root)
    loop = reader.next_epoch(batch_size=2, capture=capture)
    next(loop)
    loop.close()
    assert len(loop) == 4
    rest = reader.next_epoch(batch_size=2, capture=capture)
    assert len(rest) == 3
    assert turns(rest) == 3
    state = reader.get_state()
    other = readers.File(file_root=root)
    other.set_state(state)
    assert len(other.next_epoch(batch_size=2, capture=capture)) in (0, 4)


@CAPTURE
def test_shards_padding_and_buckets(root: Path, capture: bool) -> None:
    for options in (
        {"num_shards": 2, "shard_id": 1},
        {"num_shards": 2, "pad_last_batch": True},
        {"bucket": Bucket(edges=[10, 100])},
        {"bucket": Bucket(edges=[10, 100]), "random_shuffle": True},
    ):
        reader = readers.File(file_root=root, **options)
        for _epoch in range(2):
            loop = reader.next_epoch(batch_size=2, capture=capture)
            expected = len(loop)
            assert turns(loop) == expected
            assert len(loop) == expected


@CAPTURE
def test_the_middle_of_a_bucketed_epoch_has_no_known_length(root: Path, capture: bool) -> None:
    reader = readers.File(file_root=root, bucket=Bucket(edges=[10, 100]))
    next(reader.next_epoch(batch_size=2, capture=capture))
    rest = reader.next_epoch(batch_size=2, capture=capture)
    with pytest.raises(TypeError, match=r"readers\.file: .*not known"):
        len(rest)
    assert bool(rest)
    assert list(rest)  # `list` asks for the length, too


def test_tqdm_has_a_total(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader = readers.File(file_root=root)
    assert len(list(tqdm(reader.next_epoch(batch_size=2)))) == 4
    assert "4/4" in capsys.readouterr().err


@CAPTURE
@pytest.mark.parametrize("batch_size", [2, None])
def test_progress_counts_samples(
    root: Path, capsys: pytest.CaptureFixture[str], batch_size: int | None, capture: bool
) -> None:
    reader = readers.File(file_root=root)
    loop = reader.next_epoch(batch_size=batch_size, progress=True, capture=capture)
    assert len(loop) == turns(loop)
    printed = capsys.readouterr().err
    assert "7/7" in printed
    assert "samples/s" in printed


def test_names_of_classes(root: Path) -> None:
    assert readers.File(file_root=root).classes == ["birds", "cats", "dogs"]
    assert readers.File(file_root=root, lazy_init=True).classes == ["birds", "cats", "dogs"]
    assert readers.File(file_root=root, recursive=True).classes == ["birds", "cats", "dogs"]
    assert readers.File(file_root=root, dir_filters="*s", split=(0, 1)).classes is not None
    assert readers.File(file_root=root, dir_filters="[cd]*").classes == ["cats", "dogs"]
    for files, labels in readers.File(file_root=root).next_epoch():
        folder = Path(files.source_info()).parent.name
        assert ["birds", "cats", "dogs"][int(labels)] == folder


def test_names_that_a_function_finds(root: Path) -> None:
    def first(name: str) -> str:
        return name.partition("/")[0].upper()

    reader = readers.File(file_root=root, label_fn=first)
    assert reader.classes == ["CATS", "DOGS"]
    assert readers.File(file_root=root, label_fn=r"^(\w)").classes == ["c", "d"]
    assert readers.File(file_root=root, label_fn=r"(\d+)\.jpg").classes is None
    assert readers.File(file_root=root, label_fn=len).classes is None


def test_what_has_no_names(root: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("cats/0.jpg 3\n")
    assert readers.File(file_root=root, file_list=listed).classes is None
    assert readers.File(file_root=root, files=["cats/0.jpg"]).classes is None
    np.save(tmp_path / "a.npy", np.zeros(3))
    assert readers.Numpy(file_root=tmp_path, files=["a.npy"]).classes is None


def test_a_mixture_has_the_names_that_its_readers_share(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "apes"
    other.mkdir(parents=True)
    (other / "1.jpg").write_bytes(b"1")
    one, two = readers.File(file_root=root), readers.File(file_root=other.parent)
    assert readers.mix(readers=[one, readers.File(file_root=root)]).classes == one.classes
    assert readers.mix(readers=[one, two]).classes is None


def test_names_are_a_list_of_the_users_own(root: Path) -> None:
    reader = readers.File(file_root=root)
    assert reader.classes is not None
    reader.classes.clear()
    assert len(reader.classes) == 3


def test_readers_are_gradivas_own_values_still(root: Path) -> None:
    """A reader with a length is no sequence: it is read by its loops."""
    with pytest.raises(gradiva.OperatorTypeError, match="next_epoch"):
        list(readers.File(file_root=root))


def test_a_batch_size_belongs_to_the_loop(root: Path) -> None:
    with pytest.raises(TypeError, match=r"`batch_size`; loops have one: reader\.next_epoch"):
        readers.File(file_root=root, batch_size=4)
    assert readers.File(file_root=root, batch_size=None) is not None


LABELS: dict[str, Any] = {
    "as they are": ({}, np.int32, (1,)),
    "64 bits": ({"label_dtype": "int64"}, np.int64, (1,)),
    "a type of gradiva": ({"label_dtype": gradiva.uint8}, np.uint8, (1,)),
    "a type of NumPy": ({"label_dtype": np.float32}, np.float32, (1,)),
    "scalars": ({"label_shape": ()}, np.int32, ()),
    "a list": ({"label_shape": []}, np.int32, ()),
    "a number": ({"label_shape": 1}, np.int32, (1,)),
    "both": ({"label_dtype": "int64", "label_shape": ()}, np.int64, ()),
}
OF_FILES = [1, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("name", LABELS)
def test_dtype_and_shape_of_labels(root: Path, name: str) -> None:
    chosen, dtype, shape = LABELS[name]
    options: Any = {"file_root": root, **chosen}

    def check(labels: Any, expected: list[int]) -> None:
        whole = np.asarray(labels)
        assert (whole.dtype, whole.shape) == (dtype, (len(expected), *shape))
        assert whole.reshape(-1).tolist() == expected

    for capture in (False, True):
        reader = readers.File(**options)
        for _epoch in range(2):
            found = [labels for _, labels in reader.next_epoch(batch_size=4, capture=capture)]
            check(found[0], OF_FILES[:4])
            check(found[1], OF_FILES[4:])
    assert [np.shape(label) for _, label in readers.File(**options).next_epoch()] == [shape] * 7

    @gradiva.pipeline_def(batch_size=4, num_threads=2)
    def pipeline() -> Any:
        return gradiva.fn.readers.file(**options)[1]

    with pipeline() as pipe:
        check(pipe.run()[0], OF_FILES[:4])


def test_labels_that_do_not_fit(root: Path) -> None:
    for label, dtype in ((300, "uint8"), (-1, "uint32"), (2, bool), (2**24 + 1, "float32")):
        with pytest.raises(ValueError, match=rf"`label_dtype`.*the label {label}"):
            readers.File(files=["cats/0.jpg"], file_root=root, labels=[label], label_dtype=dtype)
    for shape in ((2,), (1, 1), 0):
        with pytest.raises(ValueError, match=r"`label_shape`: expected \(1,\) or \(\)"):
            readers.File(file_root=root, label_shape=shape)
    with pytest.raises(ValueError, match="`label_dtype`"):
        readers.File(file_root=root, label_dtype="nonsense")


def test_a_batch_of_scalar_labels_is_a_target_of_torch(root: Path) -> None:
    torch = pytest.importorskip("torch")
    reader = readers.File(file_root=root, label_dtype="int64", label_shape=())
    (_, labels) = next(reader.next_epoch(batch_size=7))
    loss = torch.nn.functional.cross_entropy(torch.zeros(7, 3), labels.torch())
    assert loss.item() == pytest.approx(np.log(3))


def test_pipelines_that_ask_for_other_labels_are_not_stored(root: Path) -> None:
    @gradiva.pipeline_def(batch_size=4, num_threads=1)
    def pipeline() -> Any:
        return gradiva.fn.readers.file(file_root=str(root), label_dtype="int64")

    with pytest.raises(gradiva.OperatorValueError, match="label_dtype"):
        pipeline().serialize()
