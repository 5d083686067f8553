"""Conditionals: every form against plain Python, sample by sample; branches, passes, batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Graph
from tests.capture.recording.conditional_forms import FORMS, OURS
from tests.capture.recording.conditionals import bits, feed, graph_of, outputs_of, run
from tests.tiers import few

PAIRS = {
    "mixed": ([0, 1, 2, 3, 3, 0], [1, 1, 1, 0, 3, 3]),
    "one": ([2], [1]),
    "first greater": ([3, 3, 3], [0, 0, 0]),
    "second greater": ([0, 0], [3, 3]),
    "zeros": ([0, 0, 0], [0, 0, 0]),
}


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


@pytest.mark.parametrize("typed", few([True, False], True))
@pytest.mark.parametrize("name", few([*FORMS, *OURS], every=2))
def test_forms(name: str, typed: bool) -> None:
    """A pipeline gives what the function gives for the numbers of each sample; also where all
    samples take one branch, and where types are not known before the first batch."""
    function = {**FORMS, **OURS}[name]
    for xs, ys in PAIRS.values() if typed else [PAIRS["mixed"]]:
        x, y = np.array(xs, np.int32), np.array(ys, np.int32)
        expected = [as_tuple(function(a, b)) for a, b in zip(x, y, strict=True)]

        def define(x: Any = x, y: Any = y) -> Any:
            return function(feed(x, typed), feed(y, typed))

        outputs = outputs_of(define, len(xs))
        assert len(outputs) == len(expected[0])
        for number, output in enumerate(outputs):
            for sample, got in enumerate(output):
                wanted = np.asarray(expected[sample][number])
                kind = np.bool_ if wanted.dtype.kind == "b" else np.int32
                assert got.shape == ()
                assert got.dtype == kind
                assert got == wanted, (name, xs[sample], ys[sample])


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int64", "uint64", "float16", "float32", "float64"]
)
def test_any_dtype_decides(dtype: str) -> None:
    values = np.array([0, 1, 1, 0], dtype)

    def choose() -> Any:
        c = feed(values)
        if c:
            z = 1
        else:
            z = 2
        return z, not c

    picked, negated = outputs_of(choose)
    assert [int(one) for one in picked] == [2, 1, 1, 2]
    assert [bool(one) for one in negated] == [True, False, False, True]


def test_nan_is_true_and_minus_zero_is_not() -> None:
    def choose() -> Any:
        c = feed(np.array([np.nan, -0.0, 1e-30, 0.0], np.float32))
        return (1 if c else 2), not c

    picked, negated = outputs_of(choose)
    assert [int(one) for one in picked] == [1, 2, 1, 2]
    assert [bool(one) for one in negated] == [False, True, False, True]


def test_an_empty_batch() -> None:
    def choose() -> Any:
        source = fn.external_source(source=lambda: np.zeros((0,), np.int32), ndim=0, dtype="int32")
        if source > 1:
            source = source * 2
        return source, source > 0 and source < 3

    for output in outputs_of(choose):
        assert output == []


SHAPES = [(9, 12, 3), (13, 8, 3), (8, 8, 3), (16, 9, 3)]


def pictures() -> list[Any]:
    noise = np.random.default_rng(5)
    return [noise.integers(0, 256, shape, np.uint8) for shape in SHAPES]


@pytest.mark.parametrize("flags", [[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0]])
@pytest.mark.parametrize("equal", [True, False])
def test_pictures(flags: list[int], equal: bool) -> None:
    """Ragged and equal samples; the changed ones in their places, files of the same layout."""
    given = [image[:8, :8] for image in pictures()] if equal else pictures()

    def choose() -> Any:
        images = feed(given, layout="HWC")
        if feed(np.array(flags, np.int32)):
            images = fn.flip(images, horizontal=1)
        return images

    (output,) = outputs_of(choose)
    for flag, got, image in zip(flags, output, given, strict=True):
        np.testing.assert_array_equal(got, image[:, ::-1] if flag else image)
    assert run(graph_of(choose))[0].layout == "HWC"


def test_nothing_is_copied_where_all_take_one_branch() -> None:
    big = [np.zeros((64, 64, 3), np.uint8) for _ in range(4)]

    def choose() -> Any:
        images = feed(big, layout="HWC")
        other = images
        if feed(np.array([1, 1, 1, 1], np.int32)):
            other = images
        else:
            other = fn.flip(images)
        return images, other

    images, other = run(graph_of(choose))
    assert np.shares_memory(images.data, other.data)


def test_right_side_is_for_the_samples_that_need_it() -> None:
    """An integer division by zero would be an error."""

    def choose() -> Any:
        x = feed(np.array([0, 1, 2, 0], np.int32))
        return x != 0 and 10 // x > 5, x == 0 or 10 // x > 5, (10 // x if x != 0 else -1)

    one, two, three = outputs_of(choose)
    assert [bool(value) for value in one] == [False, True, False, False]
    assert [bool(value) for value in two] == [True, True, False, True]
    assert [int(value) for value in three] == [-1, 10, 5, -1]


def test_graph() -> None:
    """What is recorded, and what the passes make of it."""

    def augment() -> Any:
        images = fn.external_source(source=pictures, layout="HWC", dtype="uint8", ndim=3)
        if fn.random.coin_flip():
            images = fn.brightness(fn.flip(fn.crop(images, crop=(8, 8))), brightness=2.0)
        else:
            images = fn.crop(images, crop=(8, 8))
        return images

    graph = graph_of(augment)
    assert _body(graph) == (
        "%1 = random_key(source=%0, number=0) : ? 0-D cpu\n"
        "%2 = random.coin_flip(key=%1, shared=False) : int32 0-D cpu\n"
        "%3, %4 = _conditional.split(%0, %2) : uint8 HWC cpu, uint8 HWC cpu\n"
        "%5 = crop(%3, crop=(8.0, 8.0)) : uint8 HWC cpu\n"
        "%6 = flip(%5) : uint8 HWC cpu\n"
        "%7 = brightness(%6, brightness=2.0) : uint8 HWC cpu\n"
        "%8 = crop(%4, crop=(8.0, 8.0)) : uint8 HWC cpu\n"
        "%9 = _conditional.merge(%7, %8, %2) : uint8 HWC cpu"
    )
    assert _body(optimize(graph, verify=True)) == (
        "%1 = random_key(source=%0, number=0) : ? 0-D cpu\n"
        "%2 = random.coin_flip(key=%1, shared=False) : int32 0-D cpu\n"
        "%3, %4 = _conditional.split(%0, %2) : uint8 HWC cpu, uint8 HWC cpu\n"
        "%5 = fused(%3) : uint8 HWC cpu {\n"
        "  .0 = crop(%3, crop=(8.0, 8.0)) : uint8 HWC cpu\n"
        "  .1 = flip(.0) : uint8 HWC cpu\n"
        "  .2 = brightness(.1, brightness=2.0) : uint8 HWC cpu\n"
        "}\n"
        "%6 = crop(%4, crop=(8.0, 8.0)) : uint8 HWC cpu\n"
        "%7 = _conditional.merge(%5, %6, %2) : uint8 HWC cpu"
    )
    assert bits(run(graph)) == bits(run(optimize(graph)))


def _body(graph: Graph) -> str:
    return "\n".join(line[2:] for line in str(graph).splitlines()[2:-2])


def test_constants_have_the_size_of_their_branch() -> None:
    table = np.arange(6, dtype=np.float32).reshape(2, 3)

    def choose() -> Any:
        x = feed(np.array([0, 1, 2, 3], np.int32))
        if x > 0:
            made = gradiva.cast(table, dtype="float32") if x > 5 else gradiva.as_tensor(table * 2)
            made = made + x
        else:
            made = gradiva.as_tensor(table)
        return made

    (output,) = outputs_of(choose)
    for sample, got in enumerate(output):
        np.testing.assert_array_equal(got, table * 2 + sample if sample else table)


def test_conditions_of_constants() -> None:
    """What folds to a constant decides as before, also within a branch."""

    def choose() -> Any:
        x = feed(np.array([0, 1, 2, 3], np.int32))
        six = gradiva.as_tensor(np.int32(3)) * 2
        if x > 1:
            k = gradiva.as_tensor(np.int32(2)) + 5
            if k > 6:
                x = x + k + six
            else:
                x = x - 100
        if six > 100:
            x = x * 0
        return x

    (output,) = outputs_of(choose)
    assert [int(one) for one in output] == [0, 1, 15, 16]


def test_pipelines_run_ahead() -> None:
    """Several batches, of changing sizes, depths and threads."""
    sizes = [4, 1, 3, 4, 2]

    @gradiva.pipeline_def(batch_size=4, enable_conditionals=True)
    def counting() -> Any:
        x = fn.external_source(source=[np.arange(size, dtype=np.int32) for size in sizes])
        if x > 1:
            x = x * 10
        return x

    for threads, depth in ((1, 1), (3, 4)):
        pipe = counting(num_threads=threads, prefetch_queue_depth=depth)
        found = [[int(one) for one in batch] for (batch,) in pipe]
        pipe.close()
        assert found == [[k * 10 if k > 1 else k for k in range(size)] for size in sizes]


def test_files_keep_their_names(tmp_path: Any) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.bin").write_bytes(name.encode() * 3)

    @gradiva.pipeline_def(batch_size=3, num_threads=1, enable_conditionals=True)
    def reading() -> Any:
        files, labels = fn.readers.file(
            files=[str(tmp_path / f"{name}.bin") for name in ("a", "b", "c")], labels=[0, 1, 2]
        )
        if labels[0] == 1:
            files = files + np.uint8(1)
        return files

    pipe = reading()
    (files,) = pipe.run()
    pipe.close()
    assert [name[-5:] for name in files.source_info()] == ["a.bin", "b.bin", "c.bin"]
    assert [bytes(one) for one in files.arrays()] == [b"aaa", b"ccc", b"ccc"]
