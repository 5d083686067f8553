"""Trees of arithmetic on a GPU: one launch, with the bits of the operators one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, math, types
from gradiva.capture.compiler.fuse_elementwise import fuse_elementwise
from gradiva.capture.compiler.verify import verify_graph
from tests.tiers import few

from .recipes import device, in_loop, outputs, pipeline
from .shim import COMPILER, NO_COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

MEAN = np.array([100.5, 90.25, 80.0], np.float32)


def normalized(images: Any) -> Any:
    """Scalars, an array that stretches, and another dtype."""
    return (images - gradiva.as_tensor(MEAN)) * 0.5 + 3


def compared(images: Any) -> Any:
    return ((images // 3) * 2 > images % 50) & (images != 7)


def halves(images: Any) -> Any:
    """Each step is rounded to float16."""
    small = gradiva.cast(images, dtype=types.FLOAT16)
    return (small / gradiva.as_tensor(np.float16(3))) * small - small


def functions(images: Any) -> Any:
    return math.clamp(math.sqrt(images + 1) * math.floor(images / 7.0), 2.0, 90.0)


def library(images: Any) -> Any:
    """CUDA's functions on a GPU: the same ones alone and in a tree."""
    return math.sin(images * 0.1) + math.exp(-(images / 100.0))


TREES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "normalized": (normalized, 1),
    "compared": (compared, 1),
    "halves": (halves, 2),
    "functions": (functions, 1),
    "library": (library, 1),
}
"""With the number of launches for a batch."""


@pytest.mark.parametrize("name", few(TREES, "normalized"))
def test_one_launch_with_the_bits_of_each(name: str) -> None:
    body, launches = TREES[name]
    with device() as runtime:
        expected = in_loop(body, "gpu", 3)
        runtime.launched.clear()
        pipe = pipeline(body, "gpu", prefetch_queue_depth=1, exec_async=False)
        assert outputs(pipe, 3) == expected
        assert len(runtime.launched) == 3 * launches


@pytest.mark.parametrize("name", few(["normalized", "compared", "halves", "functions"], count=1))
def test_the_bits_of_the_cpu(name: str) -> None:
    body, _ = TREES[name]
    expected = in_loop(body, "cpu", 3)
    with device():
        assert outputs(pipeline(body, "gpu"), 3) == expected


def test_what_others_read_stays_a_value() -> None:
    """A value with two readers is computed once, by a launch of its own."""

    def shared(images: Any) -> Any:
        twice = images * 2
        return (twice + 1) - (twice * 3)

    with device() as runtime:
        expected = in_loop(shared, "gpu", 2)
        runtime.launched.clear()
        pipe = pipeline(shared, "gpu", prefetch_queue_depth=1, exec_async=False)
        assert outputs(pipe, 2) == expected
        assert len(runtime.launched) == 2 * 2


def test_large_trees_are_cut() -> None:
    """A kernel has so many registers: long sums are several groups."""

    def long(images: Any) -> Any:
        for number in range(40):
            images = images + number
        return images

    with device() as runtime:
        expected = in_loop(long, "gpu", 2)
        runtime.launched.clear()
        pipe = pipeline(long, "gpu", prefetch_queue_depth=1, exec_async=False)
        assert outputs(pipe, 2) == expected
        assert 2 * 3 <= len(runtime.launched) <= 2 * 8


def test_groups_are_printed_and_checked() -> None:
    with device():
        pipe = pipeline(normalized, "gpu")
        pipe.build()
        verify_graph(pipe.graph)
        assert str(pipe.graph).count("fused") == 1
        assert fuse_elementwise(pipe.graph).outputs[0].node.members
        pipe.close()


def test_nothing_changes_on_the_cpu() -> None:
    pipe = pipeline(normalized, "cpu")
    pipe.build()
    assert "fused" not in str(pipe.graph)


def test_an_error_names_its_member() -> None:
    """Shapes that do not fit: the line of the addition, not of the whole."""

    def unfit(images: Any) -> Any:
        wrong = images + gradiva.as_tensor(np.zeros((7, 1, 1), np.float32))
        return wrong * 2.0

    with device():
        pipe = pipeline(unfit, "gpu")
        with pytest.raises(gradiva.OperatorValueError, match=r"(?s)add: .*broadcast.*wrong = "):
            pipe.run()
        pipe.close()


def test_empty_batches() -> None:
    with device():
        assert len(gradiva.capture.compile(normalized)(empty().gpu())) == 0


def empty() -> gradiva.Batch:
    return gradiva.as_batch(np.zeros((0, 4, 4, 3), np.uint8), layout="HWC")


def test_fn_spelling() -> None:
    """`fn.math` and operators of symbols are the same nodes."""

    def body(images: Any) -> Any:
        return math.max(images, 4) - fn.cast(images, dtype=types.UINT8)

    with device():
        assert outputs(pipeline(body, "gpu"), 2) == in_loop(body, "gpu", 2)
