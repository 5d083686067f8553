"""`python_function` and what comes with it: effects, order, errors, constants, images in files."""

from __future__ import annotations

import sys
import threading
import types as python_types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, fn, pipeline_def, types
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.compiler.verify import verify_graph

NUMBERS = [np.array([number], np.int32) for number in range(30)]


def numbers() -> Batch:
    return gradiva.batch([np.arange(6, dtype=np.int32).reshape(2, 3), np.ones((1, 2), np.int32)])


def counted(info: Any) -> Any:
    return NUMBERS[info.idx_in_epoch]


class Log(list[Any]):
    """A function that notes down what it is called with, and in which thread."""

    def __init__(self, result: Any = None) -> None:
        self.result = result
        self.threads: set[int] = set()
        self.inside = False

    def __call__(self, array: Any) -> Any:
        assert not self.inside, "called by two threads at a time"
        self.inside = True
        self.threads.add(threading.get_ident())
        self.append(array.tolist())
        self.inside = False
        return array if self.result is None else self.result


def test_called_with_arrays_of_its_own() -> None:
    batch = numbers()
    kept: list[Any] = []

    def function(array: Any) -> Any:
        assert type(array) is np.ndarray
        kept.append(array)
        array += 1
        return array

    result = gradiva.python_function(batch, function=function)
    np.testing.assert_array_equal(result.at(1), [[2, 2]])
    np.testing.assert_array_equal(batch.at(1), [[1, 1]])
    kept[1][:] = 99
    np.testing.assert_array_equal(result.at(1), [[2, 2]])


def test_a_result_may_be_written_again() -> None:
    """A function that returns the same memory again and again gives each sample its own."""
    buffer = np.zeros(2, np.int64)

    def function(array: Any) -> Any:
        buffer[:] = array.sum()
        return buffer

    result = gradiva.python_function(numbers(), function=function)
    np.testing.assert_array_equal(result.as_array(), [[15, 15], [2, 2]])


def test_several_inputs_and_outputs() -> None:
    batch = numbers()
    first, second = gradiva.python_function(
        batch,
        np.float32(0.5),
        function=lambda array, number: (array.sum(), array * number),
        num_outputs=2,
        output_layouts=["", "HW"],
    )
    assert (first.dtype, second.dtype, second.layout) == (gradiva.int64, gradiva.float64, "HW")
    np.testing.assert_array_equal(first.as_array(), [15, 2])
    np.testing.assert_array_equal(second.at(1), [[0.5, 0.5]])


def test_tensors_and_no_inputs() -> None:
    tensor = gradiva.python_function(np.arange(3), function=lambda array: array[::-1])
    assert isinstance(tensor, gradiva.Tensor)
    np.testing.assert_array_equal(tensor, [2, 1, 0])
    assert gradiva.python_function(function=lambda: np.int16(4)).item() == 4
    calls = iter(range(10))
    made = gradiva.python_function(function=lambda: next(calls), batch_size=3)
    np.testing.assert_array_equal(made.as_array(), [0, 1, 2])


def test_no_outputs() -> None:
    seen: list[Any] = []
    result = gradiva.python_function(
        numbers(), function=lambda a: seen.append(a.sum()), num_outputs=0
    )
    assert result == ()
    assert seen == [15, 2]


def test_batch_processing() -> None:
    def function(arrays: Any, others: Any) -> Any:
        assert [type(arrays), len(arrays), len(others)] == [list, 2, 2]
        return [array.T for array in arrays], np.stack([len(other) for other in others])

    turned, lengths = gradiva.python_function(
        numbers(), numbers(), function=function, num_outputs=2, batch_processing=True
    )
    assert turned.shape == [(3, 2), (2, 1)]
    np.testing.assert_array_equal(lengths.as_array(), [2, 1])


WRONG = {
    "none": (lambda a: None, {}, "expected an array, got None"),
    "list": (lambda a: [1, 2], {}, "expected an array, got [1, 2]"),
    "text": (lambda a: "a", {}, "expected an array, got 'a'"),
    "pair": (lambda a: (a, a), {}, "expected an array, got a tuple of 2"),
    "one of two": (lambda a: a, {"num_outputs": 2}, "a tuple of 2 (num_outputs)"),
    "three of two": (lambda a: (a, a, a), {"num_outputs": 2}, "got a tuple of 3"),
    "one of none": (lambda a: a, {"num_outputs": 0}, "expected nothing (num_outputs=0)"),
    "complex": (lambda a: a.astype(complex), {}, "boolean, integer or float type, got complex128"),
    "objects": (lambda a: a.astype(object), {}, "got object"),
    "dtypes": (lambda a: a.astype("u1" if len(a) == 2 else "f4"), {}, "2-D uint8 as in sample 0"),
    "ranks": (lambda a: a if len(a) == 2 else a[0], {}, "got 1-D int32"),
    "layout": (lambda a: a, {"output_layouts": "HWC"}, "3-D samples for 'HWC'"),
    "layouts": (lambda a: a, {"output_layouts": ["HW", "HW"]}, "at most 1"),
    "no layout": (lambda a: a, {"output_layouts": 3}, "`output_layouts`"),
    "short batch": (lambda a: a[:1], {"batch_processing": True}, "got 1 samples"),
    "no batch": (lambda a: 3, {"batch_processing": True}, "a list of 2 arrays, one per sample"),
    "outputs": (lambda a: a, {"num_outputs": -1}, "`num_outputs`"),
    "function": (3, {}, "argument `function`: expected a callable, got 3 (int)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_results(name: str) -> None:
    function, arguments, text = WRONG[name]
    with pytest.raises(gradiva.GradivaError) as caught:
        gradiva.python_function(numbers(), function=function, **arguments)  # type: ignore[arg-type]
    assert text in str(caught.value)
    assert str(caught.value).startswith("python_function")
    assert "test_python_function.py" in str(caught.value)


def divide(array: Any) -> Any:
    if array[0] == 4:
        raise ZeroDivisionError("no four")
    return array * 2


def test_an_error_belongs_to_its_batch() -> None:
    """The user's traceback, the sample and the operator are in the error; the next run works."""

    @pipeline_def(batch_size=3, num_threads=2)
    def pipeline() -> Any:
        return fn.python_function(fn.external_source(counted, batch=False), function=divide)

    pipe = pipeline()
    first = pipe.run()
    with pytest.raises(gradiva.OperatorRuntimeError) as caught:
        pipe.run()
    third = pipe.run()
    pipe.close()
    text = str(caught.value)
    assert "python_function: the function divide raised ZeroDivisionError: no four" in text
    assert "in divide" in text
    assert 'raise ZeroDivisionError("no four")' in text
    assert "in sample 1" in text
    assert "fn.python_function(fn.external_source" in text
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    np.testing.assert_array_equal(first[0].as_array().ravel(), [0, 2, 4])
    np.testing.assert_array_equal(third[0].as_array().ravel(), [12, 14, 16])


def test_stop_iteration_is_an_error_and_no_end() -> None:
    def function(array: Any) -> Any:
        raise StopIteration

    @pipeline_def(batch_size=3, num_threads=1)
    def pipeline() -> Any:
        return fn.python_function(fn.external_source(counted, batch=False), function=function)

    pipe = pipeline()
    for _ in range(2):
        with pytest.raises(gradiva.OperatorRuntimeError, match="raised StopIteration"):
            pipe.run()
    pipe.close()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("ahead", [True, False])
def test_effects_run_once_in_order(threads: int, ahead: bool) -> None:
    """Unused calls run, equal ones too; samples and batches come in order, one at a time."""
    unused, nothing, twice = Log(), Log(result=()), Log()
    both: list[Any] = []

    @pipeline_def(batch_size=3, num_threads=threads, exec_async=ahead, prefetch_queue_depth=3)
    def pipeline() -> Any:
        source = fn.external_source(counted, batch=False)
        fn.python_function(source, function=unused, preserve=True)
        made = fn.python_function(source, function=nothing, num_outputs=0)
        assert made == []
        fn.python_function(
            source, function=lambda a: both.append(("first", int(a[0]))), num_outputs=0
        )
        fn.python_function(
            source, function=lambda a: both.append(("second", int(a[0]))), num_outputs=0
        )
        one = fn.python_function(source, function=twice)
        other = fn.python_function(source, function=twice)
        return one + other, fn.python_function(source, function=lambda a: a, num_outputs=1)

    pipe = pipeline()
    verify_graph(optimize(pipe.graph))
    assert str(pipe.graph).count("python_function") == 7
    runs = [pipe.run() for _ in range(4)]
    pipe.close()
    for number, (sums, same) in enumerate(runs):
        expected = np.arange(3 * number, 3 * number + 3)
        np.testing.assert_array_equal(sums.as_array().ravel(), 2 * expected)
        np.testing.assert_array_equal(same.as_array().ravel(), expected)
    for log, times in ((unused, 1), (nothing, 1), (twice, 2)):
        flat = [value for (value,) in log]
        batches = [flat[first : first + 3 * times] for first in range(0, len(flat), 3 * times)]
        assert [value for batch in batches for value in batch[:3]] == list(range(3 * len(batches)))
        assert len(batches) >= 4
        assert ahead or len(batches) == 4
        assert len(log.threads) == 1
    assert both[:6] == [
        ("first", 0),
        ("first", 1),
        ("first", 2),
        ("second", 0),
        ("second", 1),
        ("second", 2),
    ]


def test_constants_are_not_folded_into_effects() -> None:
    log = Log()

    @pipeline_def(batch_size=2, num_threads=1, exec_async=False)
    def pipeline() -> Any:
        return fn.python_function(types.Constant(np.arange(3)), function=log)

    pipe = pipeline()
    for _ in range(3):
        np.testing.assert_array_equal(pipe.run()[0].as_array(), [[0, 1, 2]] * 2)
    pipe.close()
    assert log == [[0, 1, 2]] * 6


def looped(function: Any, steps: int = 6) -> tuple[list[Any], Any]:
    """A captured loop over batches of 2, which is left after `steps` turns."""
    source = gradiva.ExternalSource(
        [gradiva.batch(np.array([[n], [n + 1]], np.int32)) for n in range(0, 60, 2)]
    )
    loop = source.captured(batch_size=2)
    seen = []
    for step, batch in enumerate(loop):
        made = gradiva.python_function(batch + 1, function=function) * 10
        seen.append(made.as_array().ravel().tolist())
        if step == steps - 1:
            break
    return seen, loop.explain()


def test_captured_loops_call_it_where_it_stands() -> None:
    log = Log()
    seen, explained = looped(log)
    assert seen == [[10 * (n + 1), 10 * (n + 2)] for n in range(0, 12, 2)]
    assert log == [[n + 1] for n in range(12)]
    assert log.threads == {threading.get_ident()}
    assert explained.served < 6 * 3


def test_captured_loops_call_ahead_what_was_declared() -> None:
    log = Log()
    seen, explained = looped(gradiva.prefetchable(log))
    assert seen == [[10 * (n + 1), 10 * (n + 2)] for n in range(0, 12, 2)]
    assert len(log.threads) > 1
    assert explained.served == 5 * 3, explained


def test_deferred_and_compiled_calls_are_not_deferred() -> None:
    log = Log()
    with gradiva.EvalMode.deferred:
        gradiva.python_function(numbers() + 1, function=log)
    assert len(log) == 2

    @gradiva.capture.compile
    def function(batch: Any) -> Any:
        return gradiva.python_function(batch + 1, function=log) + 1

    for calls in (4, 6):
        np.testing.assert_array_equal(function(numbers()).at(1), [[3, 3]])
        assert len(log) == calls


def test_prefetchable_refuses_what_it_cannot_mark() -> None:
    assert gradiva.prefetchable(divide) is divide
    del divide.prefetchable  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="attributes can be set on"):
        gradiva.prefetchable(len)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """torch, or what stands for it here: tensors that NumPy arrays are wrapped in."""
    try:
        import torch as real
    except ImportError:
        pass
    else:
        yield real
        return

    class Tensor:
        def __init__(self, array: Any) -> None:
            self.array = np.asarray(array)

        def __add__(self, other: Any) -> Tensor:
            return Tensor(self.array + other)

        def detach(self) -> Tensor:
            return self

        cpu = detach

        def numpy(self) -> Any:
            return self.array

    stub: Any = python_types.ModuleType("torch")
    stub.Tensor, stub.from_dlpack = Tensor, Tensor
    monkeypatch.setitem(sys.modules, "torch", stub)
    from gradiva.plugin.pytorch import function

    yield stub
    for name in ("Tensor", "from_dlpack"):
        vars(function.torch).pop(name, None)


def test_torch_python_function(torch: Any) -> None:
    from gradiva.plugin.pytorch import TorchPythonFunction
    from gradiva.plugin.pytorch.fn import torch_python_function

    def function(tensor: Any) -> Any:
        assert isinstance(tensor, torch.Tensor)
        return tensor + 1

    def whole(tensors: Any) -> Any:
        return [tensor + 2 for tensor in tensors]

    result = torch_python_function(numbers(), function=function)
    np.testing.assert_array_equal(result.at(1), [[2, 2]])
    result = TorchPythonFunction(whole, batch_processing=True)(numbers())
    np.testing.assert_array_equal(result.at(1), [[3, 3]])
    with pytest.raises(TypeError, match="expected a torch tensor"):
        torch_python_function(numbers(), function=lambda tensor: 3)
    with pytest.raises(RuntimeError, match="broken raised ValueError"):
        torch_python_function(numbers(), function=broken)
    with pytest.raises(TypeError, match="expected a callable"):
        torch_python_function(numbers(), function=3)  # type: ignore[arg-type]


def broken(tensor: Any) -> Any:
    raise ValueError("broken")


def test_torch_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradiva.plugin.pytorch import function
    from gradiva.plugin.pytorch.fn import torch_python_function

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(vars(function.torch), "from_dlpack", raising=False)
    with pytest.raises(ImportError, match="pip install torch"):
        torch_python_function(numbers(), function=broken)


def test_dump_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    color = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    result = gradiva.dump_image(gradiva.batch([color, color[:1] + 100], layout="HWC"))
    np.testing.assert_array_equal(result.at(0), color)
    text = (tmp_path / "0--0.ppm").read_text()
    assert text == "P3\n3 2\n255\n0 1 2 3 4 5 6 7 8 \n9 10 11 12 13 14 15 16 17 \n"
    assert (tmp_path / "1--0.ppm").read_text().startswith("P3\n3 1\n255\n100 ")
    gradiva.dump_image(gradiva.tensor(color[..., :1]), suffix="gray")
    assert (tmp_path / "0-gray-0.ppm").read_text() == "P2\n3 2\n255\n0 3 6 \n9 12 15 \n"
    with pytest.raises(RuntimeError, match=r"cannot write 0-no/such-0\.ppm: No such file"):
        gradiva.dump_image(gradiva.tensor(color), suffix="no/such")


def test_dump_image_of_a_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are written although nothing needs the output."""
    monkeypatch.chdir(tmp_path)

    @pipeline_def(batch_size=1, num_threads=1, exec_async=False)
    def pipeline() -> Any:
        image = fn.external_source(lambda: np.ones((1, 2, 2, 3), np.uint8), layout="HWC")
        fn.dump_image(image, suffix="unused")
        return image

    pipe = pipeline()
    pipe.run()
    pipe.close()
    assert [path.name for path in tmp_path.iterdir()] == ["0-unused-0.ppm"]
