"""External sources of which not all is used: what nobody reads is not asked for or looked at."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Pipeline, fn, ops, pipeline_def, types

pytestmark = pytest.mark.core

OPTIONS: dict[str, Any] = {"batch_size": 3, "num_threads": 1, "device_id": None, "seed": 4}


def numbers(output: Any) -> list[float]:
    return [float(np.asarray(one).reshape(-1)[0]) for one in output]


def defined(**more: Any) -> Callable[[Callable[..., Any]], Any]:
    made: Callable[[Callable[..., Any]], Any] = pipeline_def(**OPTIONS, **more)
    return made


def never() -> Any:
    raise AssertionError("nobody reads this source")


@pytest.mark.parametrize("count", [None, 1, 2, 4])
@pytest.mark.parametrize("batch", [True, False])
def test_an_unused_source_is_not_called(count: int | None, batch: bool) -> None:
    @defined()
    def pipeline() -> Any:
        fn.external_source(never, num_outputs=count, batch=batch)
        return types.ConstantNode("cpu", 3)

    with pipeline() as pipe:
        for _ in range(3):
            pipe.run()


def test_random_values_behind_a_source_ask_it_how_many_samples_there_are() -> None:
    """As in dynamic mode: a batch has as many values as the source has samples."""
    sizes = [3, 1, 2]

    @defined()
    def pipeline() -> Any:
        fn.external_source(lambda number: np.zeros((sizes[number], 1)))
        return fn.random.uniform(range=(0, 1))

    with pipeline() as pipe:
        assert [len(pipe.run()[0]) for _ in sizes] == sizes


@pytest.mark.parametrize("count", [None, 1, 3])
def test_samples_that_are_only_counted_may_be_anything(count: int | None) -> None:
    asked: list[int] = []

    def source(info: Any) -> None:
        asked.append(info.idx_in_epoch)
        if info.idx_in_epoch >= 6:
            raise StopIteration

    @defined(prefetch_queue_depth=1, exec_async=False)
    def pipeline() -> Any:
        fn.external_source(source, num_outputs=count, batch=False)
        return fn.random.uniform(range=(0, 1))

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* not used, of 3", UserWarning)
        with pipeline() as pipe:
            assert [len(pipe.run()[0]) for _ in range(2)] == [3, 3]
            with pytest.raises(StopIteration):
                pipe.run()
    assert asked == [*range(7)]


def test_an_iterable_of_samples_that_are_only_counted_may_end_within_a_batch() -> None:
    @defined()
    def pipeline() -> Any:
        fn.external_source([None, "text", 3, None], batch=False)
        return fn.random.uniform(range=(0, 1))

    with pipeline() as pipe:
        assert [len(pipe.run()[0]) for _ in range(2)] == [3, 1]


def test_a_whole_batch_is_looked_at_to_count_it() -> None:
    @defined()
    def pipeline() -> Any:
        fn.external_source(lambda: None)
        return fn.random.uniform(range=(0, 1))

    with pipeline() as pipe, pytest.raises(gradiva.OperatorTypeError, match="got None"):
        pipe.run()


def test_random_values_are_those_beside_a_source_that_is_read() -> None:
    def values(used: bool) -> list[list[float]]:
        @defined()
        def pipeline() -> Any:
            zeros = fn.external_source(lambda: np.zeros((3, 1), np.float32))
            drawn = fn.random.uniform(range=(0, 1))
            return (drawn, zeros) if used else drawn

        with pipeline() as pipe:
            return [numbers(pipe.run()[0]) for _ in range(3)]

    assert values(True) == values(False)


def test_no_process_is_started_for_an_unused_source() -> None:
    @defined(py_num_workers=2)
    def pipeline() -> Any:
        fn.external_source(lambda info: never(), batch=False, parallel=True)
        return types.ConstantNode("cpu", 3)

    with pipeline() as pipe:
        pipe.run()
        assert not pipe.external_source_shm_statistics()["capacities"]


def test_a_kept_source_is_read() -> None:
    asked: list[int] = []

    def source() -> Any:
        asked.append(1)
        return np.zeros((3, 1), np.float32)

    @defined(prefetch_queue_depth=1, exec_pipelined=False)
    def pipeline() -> Any:
        fn.external_source(source, preserve=True)
        return types.Constant(3)

    with pipeline() as pipe:
        pipe.run()
    assert asked


ITEMS: dict[str, Any] = {
    "nothing": None,
    "text": "no sample",
    "other sizes": np.zeros((7, 2)),
    "a number": 5,
}


@pytest.mark.parametrize("used", [0, 1, 2])
@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
@pytest.mark.parametrize("kind", ["callable", "iterable", "samples"])
def test_parts_that_nobody_reads_may_be_anything(used: int, item: Any, kind: str) -> None:
    whole = kind != "samples"

    def parts() -> tuple[Any, ...]:
        good = np.full((3, 2) if whole else (2,), used + 5, np.float32)
        return tuple(good if output == used else item for output in range(3))

    sources = {"callable": parts, "iterable": [parts()] * 5, "samples": lambda _: parts()}

    @defined()
    def pipeline() -> Any:
        outputs = fn.external_source(sources[kind], num_outputs=3, batch=whole)
        return outputs[used] + 1

    with pipeline() as pipe:
        with pytest.warns(UserWarning, match=r"outputs .* not used, of 3"):
            pipe.build()
        for _ in range(2):
            assert numbers(pipe.run()[0]) == [used + 6.0] * 3


@pytest.mark.full
def test_in_processes() -> None:
    def source(info: Any) -> tuple[Any, Any]:
        return None, np.full((2,), info.idx_in_epoch, np.int32)

    @defined(py_num_workers=2)
    def pipeline() -> Any:
        _, values = fn.external_source(source, num_outputs=2, batch=False, parallel=True)
        return values

    with pipeline() as pipe:
        with pytest.warns(UserWarning, match="output 0 is not used"):
            pipe.build()
        assert numbers(pipe.run()[0]) == [0, 1, 2]
        assert numbers(pipe.run()[0]) == [3, 4, 5]


def test_what_is_used_is_still_checked() -> None:
    @defined()
    def pipeline() -> Any:
        values, _ = fn.external_source(lambda: (None, np.zeros((3, 2))), num_outputs=2)
        return values

    with pipeline() as pipe:
        with pytest.warns(UserWarning, match="output 1 is not used"):
            pipe.build()
        with pytest.raises(gradiva.OperatorTypeError, match="got None"):
            pipe.run()


def test_the_warning_names_the_line() -> None:
    @defined()
    def pipeline() -> Any:
        made = fn.external_source(lambda: [np.zeros((3, 2))] * 4, num_outputs=4)  # here
        return made[1], made[2]

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        pipeline().build()
    (warning,) = seen
    assert "outputs 0, 3 are not used, of 4" in str(warning.message)
    with open(__file__) as lines:
        assert list(lines)[warning.lineno - 1].endswith("# here\n")


@pytest.mark.parametrize("used", [[0], [1], [0, 2], [1, 2]])
def test_only_what_is_read_is_fed(used: list[int]) -> None:
    """No warning either: nobody makes what is not fed."""

    class Fed(Pipeline):
        def define_graph(self) -> Any:
            made = ops.ExternalSource(num_outputs=3)()
            self.read = [made[number] for number in used]
            return tuple(one + 1 for one in self.read)

        def iter_setup(self) -> None:
            for number, one in zip(used, self.read, strict=True):
                self.feed_input(one, np.full((3, 2), number, np.float32))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Fed(**OPTIONS) as pipe:
            for _ in range(2):
                assert [numbers(one)[0] for one in pipe.run()] == [number + 1 for number in used]


def test_what_is_fed_for_nothing_is_dropped() -> None:
    with Pipeline(**OPTIONS) as pipe:
        _, second = fn.external_source(num_outputs=2, name="fed")
        pipe.set_outputs(second)
        for step in range(3):
            pipe.feed_input("fed[0]", np.zeros((3, 1), np.float32))
            pipe.feed_input(second, np.full((3, 1), step, np.float32))
            assert numbers(pipe.run()[0]) == [step] * 3


def test_a_checkpoint_goes_on() -> None:
    def made(checkpoint: Any = None) -> Any:
        @defined(enable_checkpointing=True, checkpoint=checkpoint)
        def pipeline() -> Any:
            values = fn.external_source(
                lambda number: (np.full((3, 1), number, np.int32), None), num_outputs=2
            )[0]
            return values, fn.random.uniform()

        return pipeline()

    with made() as pipe:
        with pytest.warns(UserWarning, match="not used"):
            pipe.build()
        pipe.run()
        saved = pipe.checkpoint()
        expected = [numbers(one) for one in pipe.run()]
    with made(saved) as again:
        with pytest.warns(UserWarning, match="not used"):
            again.build()
        assert [numbers(one) for one in again.run()] == expected
