"""What users of NumPy, of pipelines and of other libraries write out of habit: it works, or the
error says what to write instead, with the user's line."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import EvalContext, EvalMode, GradivaError, capture, fn, pipeline_def
from gradiva.eager.operators.operator import maker, operators
from gradiva.eager.types.batch_shape import SHARED, BatchShape
from gradiva.eager.types.dtypes import DTypeLike, float32
from gradiva.eager.types.sample_type import SampleType


def numbers() -> gradiva.Batch:
    return gradiva.batch([np.arange(6, dtype=np.int32), np.arange(3, dtype=np.int32)])


def same(one: Any, other: Any) -> bool:
    pairs = zip(one.tensors, other.tensors, strict=True)
    return one.dtype is other.dtype and all(np.array_equal(a, b) for a, b in pairs)


def test_functions_of_numpy_are_arithmetic() -> None:
    batch = numbers()
    add: Any = np.add
    assert same(add(batch, 1), batch + 1)
    assert same(np.float32(2) * batch, gradiva.tensor(np.float32(2)) * batch)
    assert same(add(gradiva.tensor([1], dtype="int32"), batch), 1 + batch)
    assert same(np.negative(batch), -batch)
    assert same(capture.compile(lambda x: add(x, 1))(batch), batch + 1)
    with EvalMode.deferred:
        assert same(
            add(gradiva.flip(gradiva.zeros(shape=(2, 2, 1), batch_size=2)), 1),
            gradiva.ones(shape=(2, 2, 1), batch_size=2),
        )

    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        return add(fn.random.uniform(shape=(3,), seed=1), 1)

    (made,) = pipeline().run()
    assert same(made, gradiva.random.uniform(shape=(3,), seed=1, batch_size=2) + 1)


def test_other_functions_of_numpy_say_what_to_use() -> None:
    sine: Any = np.sin
    with pytest.raises(TypeError, match=r"numpy.sin takes no Batch: use .*\n  at .*test_habits"):
        sine(numbers())
    array: Any = np.zeros(6, np.int32)
    with pytest.raises(GradivaError, match=r"numpy\.add with `out`"):
        array += numbers()

    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        return sine(fn.random.uniform())

    with pytest.raises(GradivaError, match=r"takes no DataNode: use .*\n  at .*test_habits"):
        pipeline()


@pytest.mark.parametrize(
    "use", [lambda s: s[0], lambda s: s == (1, 2), len, list, lambda s: (*s, 1)]
)
def test_the_shape_of_a_symbol(use: Any) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        return use(fn.random.uniform(shape=(3,)).shape)

    with pytest.raises(GradivaError, match=r"`shape\(\)\[0\]` an extent\n  at .*test_habits"):
        pipeline()

    @pipeline_def(batch_size=2, num_threads=1)
    def right() -> Any:
        return fn.random.uniform(shape=(3,)).shape()[0]

    assert [one.item() for one in right().run()[0].tensors] == [3, 3]


def test_two_batch_sizes() -> None:
    ranges = gradiva.batch([[0.0, 1.0], [2.0, 3.0]])
    for mode in (EvalMode.eager, EvalMode.deferred):
        with mode, pytest.raises(ValueError, match=r"`batch_size`: expected 2.*got 3"):
            gradiva.random.uniform(range=ranges, batch_size=3)
        with mode:
            assert len(gradiva.random.uniform(range=ranges, batch_size=2)) == 2
    with pytest.raises(ValueError, match="`batch_size`: expected 2"):
        gradiva.random.choice(numbers(), batch_size=1)


def test_lists_of_numbers_are_inputs() -> None:
    choice: Any = gradiva.random.choice
    for elements in ([1, 2, 3], (1, 2, 3), [[1, 2], [3, 4]], [1.5, 2], [True, False]):
        array = gradiva.tensor(elements)
        made = choice(elements, batch_size=5, seed=3)
        assert same(made, choice(array, batch_size=5, seed=3))
        assert same(made, capture.compile(lambda x=elements: choice(x, batch_size=5, seed=3))())
        with EvalMode.deferred:
            assert same(made, choice(elements, batch_size=5, seed=3))
    for wrong in ([numbers(), np.zeros(3)], [[1], [2, 3]]):
        with pytest.raises(TypeError, match="input 0"):
            choice(wrong, batch_size=5)
    for batch in ([np.zeros(3), np.zeros(3)], [b"ab", b"c"]):  # the samples of a batch
        assert len(choice(batch)) == 2
        with pytest.raises(ValueError, match="batch_size"):
            choice(batch, batch_size=5)


def test_a_choice_among_texts_is_refused() -> None:
    """NumPy returns one of them; as samples of bytes each would give one of its bytes."""
    choice: Any = gradiva.random.choice
    for mode in (EvalMode.eager, EvalMode.deferred):
        for names in (["cat", "dog"], ("a", "b"), [b"a", "b"]):
            with mode, pytest.raises(TypeError, match=r"a list of texts.*choice\(len\(names\)\)"):
                choice(names)
    with pytest.raises(TypeError, match="list of texts"):
        capture.compile(lambda: choice(["cat", "dog"]))()
    names = ["cat", "dog"]
    assert names[int(choice(len(names)))] in names


@pytest.mark.parametrize("name", ["tensor", "as_tensor", "batch", "as_batch"])
def test_values_that_cannot_be_made_name_the_line(name: str) -> None:
    make = getattr(gradiva, name)
    for wrong in (np.array([None]), [[1j]], [[1, [2]], [3]], "text" if "batch" in name else None):
        with pytest.raises(GradivaError, match=rf"^{name}: (.|\n)*\n  at .*test_habits.py"):
            make(wrong)
    with pytest.raises(GradivaError, match=rf"^{name}: (.|\n)*\n  at .*test_habits.py"):
        make([[1]], layout="HWC")
    with pytest.raises(GradivaError, match=r"^flip: (.|\n)*\n  at .*test_habits.py"):
        gradiva.flip(np.array([None]))


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "one.jpg"
    file.write_bytes(b"12")
    chosen = tmp_path / "list.txt"
    chosen.write_text("a/one.jpg 7\n")
    readers: list[Any] = [
        gradiva.readers.File(files=[file]),
        gradiva.readers.File(files=file),
        gradiva.readers.File(file_root=tmp_path),
        gradiva.readers.File(file_root=tmp_path, file_list=chosen),
    ]
    for reader in readers:
        ((data, _),) = reader.next_epoch()
        assert bytes(np.asarray(data)) == b"12"

    @pipeline_def(batch_size=1, num_threads=1)
    def pipeline() -> Any:
        return fn.readers.file(files=[file])

    stored = pipeline().serialize()
    (data, _) = gradiva.Pipeline.deserialize(stored).run()
    assert data.source_info() == [str(file)]
    with pytest.raises(TypeError, match="`files`: expected a path or several"):
        gradiva.readers.File(files=[3])  # type: ignore[list-item]


def test_random_operators_have_a_generator_however_they_are_declared() -> None:
    @maker("test.dice", random=True)
    def dice(*, dtype: DTypeLike | None = None, **common: Any) -> SampleType:
        return SampleType(float32, 0, "")

    try:
        assert "rng" in dice.common
        assert "rng" in str(dice.__signature__)
    finally:
        del operators["test.dice"]


def test_evaluate_all_is_about_its_own_calls() -> None:
    part: Any = gradiva.slice
    with EvalMode.deferred:
        foreign = part(numbers(), 9, 2, axes=[0])
        with EvalContext() as context:
            wrong = part(numbers(), 8, 2, axes=[0])
            right: Any = numbers() + 1
            with pytest.raises(GradivaError, match="8"):
                context.evaluate_all()
            assert right.pending.values is not None
            context.evaluate_all()
        for failed in (wrong, foreign):
            with pytest.raises(GradivaError):
                failed.evaluate()


def test_a_loop_shared_by_threads(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(60):
        (tmp_path / "a" / f"{number:02}.jpg").write_text(f"{number:02}")

    def run(count: int) -> tuple[dict[str, float], int]:
        reader = gradiva.readers.File(file_root=tmp_path, seed=1)
        generator = gradiva.random.RNG(3)
        loop = reader.next_epoch(batch_size=2)
        found: list[tuple[str, float]] = []

        def work() -> None:
            for files, _ in loop:
                drawn = gradiva.random.uniform(batch_size=files.batch_size, rng=generator)
                for one, number in zip(files.tensors, drawn.tensors, strict=True):
                    found.append((bytes(np.asarray(one)).decode(), float(number.item())))

        with ThreadPoolExecutor(count) as pool:
            for future in [pool.submit(work) for _ in range(count)]:
                future.result()
        return dict(found), len(found)

    alone, together = run(1), run(4)
    assert together == alone
    assert together[1] == 60


def test_geometries_of_large_batches_are_not_kept() -> None:
    for count in (SHARED, SHARED + 1):
        shared = BatchShape.equal(count, (2, 3)) is BatchShape.equal(count, (2, 3))
        assert shared == (count <= SHARED)
        shared = BatchShape.repeated(count, (2, 3)) is BatchShape.repeated(count, (2, 3))
        assert shared == (count <= SHARED)


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("pad", [False, True])
def test_a_loop_left_after_its_last_batch(tmp_path: Path, captured: bool, pad: bool) -> None:
    (tmp_path / "a").mkdir()
    for number in range(5):
        (tmp_path / "a" / f"{number}.jpg").write_text(str(number))

    def run(reader: Any, most: int) -> list[str]:
        loop = reader.next_epoch(batch_size=2, capture=captured)
        turns = zip(range(most), loop, strict=False)  # asks for no batch after the last one
        return [
            "".join(bytes(np.asarray(one)).decode() for one in files) for _, (files, _) in turns
        ]

    whole = ["01", "23", "44" if pad else "4"]
    reader = gradiva.readers.File(file_root=tmp_path, pad_last_batch=pad)
    assert run(reader, 3) == whole
    state = reader.get_state()
    assert run(reader, 9) == whole
    assert run(reader, 2) == whole[:2]
    assert run(reader, 9) == whole[2:]
    assert run(reader, 9) == whole
    # A program that goes on from a state does what the one that wrote it did next: its loop ends.
    reader.set_state(state)
    assert run(reader, 9) == []
    assert run(reader, 9) == whole
