"""A bad request fails alone, with an error of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import capture
from gradiva.eager.support.errors import SampleDataError
from gradiva.serve import Batcher
from tests.garbage import cyclic_garbage
from tests.gradiva.serve.gates import PATIENCE

pytestmark = pytest.mark.core


@pytest.fixture(scope="module")
def files(photographs: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(photographs.rglob("*.jpg"))[:8]]


def together(
    function: Callable[..., Any], *requests: Any, **options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """The results or errors of requests that are in one batch, and the statistics."""
    options = {"max_batch": len(requests), "max_delay_ms": 3.6e6, "adaptive": False, **options}
    with Batcher(function, **options) as batcher:
        futures = [batcher.submit(*(one if isinstance(one, tuple) else (one,))) for one in requests]
        errors = [future.exception(PATIENCE) for future in futures]
        found = [error or future.result() for error, future in zip(errors, futures, strict=True)]
        told = batcher.stats()
        assert told["failed"] == sum(error is not None for error in errors)
        return found, told


def raising(files: Any) -> Any:
    return gradiva.resize(gradiva.decoders.image(files), size=(20, 30))


def skipping(files: Any) -> Any:
    images = gradiva.decoders.image(files, on_error="skip")
    return gradiva.resize(images, size=(20, 30))


def skipping_arrays(files: Any) -> Any:
    return skipping(files).as_array()


def with_labels(files: Any) -> Any:
    """Of which one part has lost samples, and the other has not."""
    return {"image": skipping(files), "size": np.array([len(one) for one in files])}


def replacing(files: Any) -> Any:
    images = gradiva.decoders.image(files, on_error="replace", fill_value=9)
    return gradiva.resize(images, size=(20, 30))


FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "raises": (raising, 5),  # all, one, the seven others, another one, six others
    "skips": (skipping, 1),
    "arrays": (skipping_arrays, 1),
    "compiled": (capture.compile(raising), 5),
    "compiled and skips": (capture.compile(skipping), 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_damaged_files(name: str, files: list[bytes]) -> None:
    function, calls = FUNCTIONS[name]
    wanted = raising(files).arrays()
    damaged = {2: b"no picture", 5: files[5][:200]}
    found, told = together(function, *(damaged.get(k, data) for k, data in enumerate(files)))
    for k, result in enumerate(found):
        if k in damaged:
            assert isinstance(result, SampleDataError)
            assert result.sample is None
            assert result.operator == "decoders.image"
        else:
            np.testing.assert_array_equal(result, wanted[k])
    assert "unknown image format" in str(found[2])
    assert str(found[5]) != str(found[2])
    assert told["batches"] == 1
    assert told["calls"] <= calls + 4  # two damaged files: from the second one on by halves
    if calls == 1:
        assert told["calls"] == 1


def test_the_error_is_that_of_a_request_alone(files: list[bytes]) -> None:
    with Batcher(raising) as batcher, pytest.raises(SampleDataError) as alone:
        batcher(b"no picture")
    found, _ = together(raising, files[0], b"no picture")
    assert str(found[1]) == str(alone.value)
    assert "test_isolation.py" in str(found[1])  # the line in the function


def test_parts_that_have_lost_samples(files: list[bytes]) -> None:
    found, told = together(with_labels, files[0], b"no picture", files[1])
    assert told["calls"] == 1
    assert isinstance(found[1], SampleDataError)
    assert [int(found[k]["size"]) for k in (0, 2)] == [len(files[0]), len(files[1])]
    wanted = raising([files[1]]).at(0)
    np.testing.assert_array_equal(found[2]["image"], wanted)


def test_all_files_are_damaged() -> None:
    for function in (raising, skipping, skipping_arrays):
        found, _ = together(function, b"one", b"two", b"three")
        assert all("unknown image format" in str(one) for one in found)


def test_replaced_samples_are_results(files: list[bytes]) -> None:
    found, told = together(replacing, files[0], b"no picture")
    assert told["calls"] == 1
    assert (np.asarray(found[1]) == 9).all()
    assert told["failed"] == 0


def test_the_quarantine_of_the_process_is_not_concerned() -> None:
    before = gradiva.quarantine().total
    together(skipping, b"one", b"two")
    assert gradiva.quarantine().total == before


def odd(batch: Any) -> Any:
    """Refuses numbers that are divisible by 100, without saying which."""
    if (batch.as_array() % 100 == 0).any():
        raise LookupError(f"among {len(batch)}")
    return batch


@pytest.mark.parametrize("bad", [(), (0,), (15,), (3, 4), (0, 7, 8, 15), tuple(range(16))])
def test_an_error_that_names_no_sample(bad: tuple[int, ...]) -> None:
    found, told = together(odd, *(100 if k in bad else k + 1 for k in range(16)))
    for k, result in enumerate(found):
        if k in bad:
            assert isinstance(result, LookupError)
            assert str(result) == "among 1"
        else:
            assert result.item() == k + 1
    assert len({id(one) for one in found}) == 16
    # Each half that fails is called again in two parts.
    assert told["calls"] <= 1 + 2 * 4 * max(len(bad), 0)


def test_a_named_sample_is_not_believed() -> None:
    """The function has chosen samples, so the number in the error is another one."""

    def misleading(batch: Any) -> Any:
        values = batch.as_array()
        if (values == 7).any():
            raise SampleDataError("the seven", sample=0)
        return batch

    found, _ = together(misleading, 1, 2, 7, 3)
    assert isinstance(found[2], SampleDataError)
    assert [found[k].item() for k in (0, 1, 3)] == [1, 2, 3]


def test_without_isolation(files: list[bytes]) -> None:
    found, told = together(raising, files[0], b"no picture", files[1], isolate=False)
    assert told["calls"] == 1
    assert all("unknown image format" in str(one) for one in found)
    assert len({id(one) for one in found}) == 3
    assert {one.sample for one in found} == {None}


def test_errors_that_cannot_be_copied() -> None:
    class Difficult(Exception):  # noqa: N818
        def __new__(cls, *_: object, needed: int = 0) -> Any:
            if not needed:
                raise TypeError("needed")
            return super().__new__(cls)

        def __init__(self, *, needed: int) -> None:
            super().__init__("difficult")

    def function(batch: Any) -> Any:
        raise Difficult(needed=3)

    found, _ = together(function, 1, 2, isolate=False)
    assert all("Difficult" in str(one) for one in found)


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_would_end_the_program(kind: type[BaseException]) -> None:
    """The client gets an error that it can catch, and the batcher goes on."""

    def function(batch: Any) -> Any:
        if (batch.as_array() == 7).any():
            raise kind
        return batch

    with Batcher(function) as batcher:
        with pytest.raises(gradiva.OperatorRuntimeError, match=f"has raised {kind.__name__}"):
            batcher(7)
        assert batcher(8).item() == 8


def test_inputs_of_other_numbers_fail_alone() -> None:
    """Two inputs for a function of one: a request of another kind."""
    found, _ = together(lambda one: one, 1, (2, 3), max_batch=1)
    assert found[0].item() == 1
    assert isinstance(found[1], TypeError)


def test_nothing_is_left_in_cycles(files: list[bytes]) -> None:
    def requests() -> None:
        together(raising, files[0], b"no picture", files[1])
        with Batcher(raising) as batcher:
            with suppress(SampleDataError):
                batcher(b"no picture")
            with suppress(SampleDataError):
                batcher.submit(b"no picture").result(PATIENCE)
        with suppress(gradiva.serve.BatcherClosed):
            batcher(b"")

    requests()
    assert cyclic_garbage(requests) == []
