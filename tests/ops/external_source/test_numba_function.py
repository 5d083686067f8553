"""`numba_function`: compiled functions of the user's over the worker threads."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def, types
from gradiva.plugin.numba.experimental import NumbaFunction
from gradiva.plugin.numba.fn.experimental import numba_function

ONE: dict[str, Any] = {
    "in_types": [types.INT32],
    "ins_ndim": [1],
    "out_types": [types.INT32],
    "outs_ndim": [1],
}


def vectors(count: int = 3) -> gradiva.Batch:
    return gradiva.batch([np.arange(index, index + 4, dtype=np.int32) for index in range(count)])


def plus_one(output: Any, input: Any) -> None:
    for index in range(len(input)):
        output[index] = input[index] + 1


def test_per_sample() -> None:
    result = numba_function(vectors(), run_fn=plus_one, **ONE)
    np.testing.assert_array_equal(result.as_array(), vectors().as_array() + 1)
    assert result.layout == ""


def both(total: Any, difference: Any, left: Any, right: Any) -> None:
    total[:] = left + right
    difference[:] = left - right


@pytest.mark.full
def test_several_inputs_and_outputs() -> None:
    two = {name: value * 2 for name, value in ONE.items()}
    total, difference = numba_function(vectors(), vectors(), run_fn=both, **two)
    np.testing.assert_array_equal(total.as_array(), 2 * vectors().as_array())
    np.testing.assert_array_equal(difference.as_array(), 0 * vectors().as_array())


def turned_shapes(outs: Any, ins: Any) -> None:
    for sample in range(len(ins[0])):
        outs[0][sample][0] = ins[0][sample][1]
        outs[0][sample][1] = ins[0][sample][0]
        outs[1][sample][0] = len(ins)


def turn(turned: Any, numbers: Any, input: Any) -> None:
    for row in range(input.shape[0]):
        for column in range(input.shape[1]):
            turned[column, row] = input[row, column]
    numbers[0] = input.shape[0]


@pytest.mark.full
def test_setup_function() -> None:
    images = gradiva.batch([np.arange(6, dtype=np.uint8).reshape(2, 3), np.ones((1, 4), np.uint8)])
    turned, numbers = numba_function(
        images,
        run_fn=turn,
        setup_fn=turned_shapes,
        in_types=[types.UINT8],
        ins_ndim=[2],
        out_types=[types.UINT8, types.FLOAT],
        outs_ndim=[2, 1],
    )
    assert turned.shape == [(3, 2), (4, 1)]
    np.testing.assert_array_equal(turned.at(0), images.at(0).T)
    np.testing.assert_array_equal(numbers.as_array(), np.array([[2], [1]], np.float32))


def mix(outputs: Any, inputs: Any) -> None:
    for index in range(len(inputs)):
        outputs[index][:] = inputs[len(inputs) - 1 - index]


@pytest.mark.full
def test_batch_processing_sees_all_samples() -> None:
    """One compiled function serves batches of every size."""
    for count in (3, 5):
        result = numba_function(vectors(count), run_fn=mix, batch_processing=True, **ONE)
        np.testing.assert_array_equal(result.as_array(), vectors(count).as_array()[::-1])


def scalar(output: Any, input: Any) -> None:
    output[()] = input[()] * 2


@pytest.mark.full
def test_scalars_and_single_tensors() -> None:
    none = {**ONE, "ins_ndim": [0], "outs_ndim": [0]}
    numbers = gradiva.batch(np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(
        numba_function(numbers, run_fn=scalar, **none).as_array(), [0, 2, 4]
    )
    single: dict[str, Any] = {
        "in_types": types.INT32,
        "ins_ndim": 1,
        "out_types": types.INT32,
        "outs_ndim": 1,
    }
    tensor = numba_function(np.arange(3, dtype=np.int32), run_fn=plus_one, **single)
    assert isinstance(tensor, gradiva.Tensor)
    np.testing.assert_array_equal(tensor, [1, 2, 3])


@pytest.mark.full
def test_compiled_functions_and_explicit_signatures() -> None:
    numba = pytest.importorskip("numba")
    expected = vectors().as_array() + 1
    for wrapped in (numba.njit(plus_one), numba.njit("void(int32[:], int32[:])")(plus_one)):
        result = numba_function(vectors(), run_fn=wrapped, **ONE)
        np.testing.assert_array_equal(result.as_array(), expected)


def raises(output: Any, input: Any) -> None:
    if input[0] == 2:
        raise ValueError("two")
    output[:] = input


@pytest.mark.full
def test_the_next_run_works_after_an_error() -> None:
    @pipeline_def(batch_size=2, num_threads=2)
    def pipeline() -> Any:
        return numba_function(
            fn.external_source(lambda info: vectors(9).at(info.idx_in_epoch), batch=False),
            run_fn=raises,
            **ONE,
        )

    pipe = pipeline()
    pipe.run()
    with pytest.raises(gradiva.OperatorRuntimeError) as caught:
        pipe.run()
    (third,) = pipe.run()
    pipe.close()
    text = str(caught.value)
    assert "numba_function: the function raises raised ValueError: two" in text
    assert "in sample 0" in text
    assert "test_numba_function.py" in text
    np.testing.assert_array_equal(third.as_array(), vectors(6).as_array()[4:])


def writes_input(output: Any, input: Any) -> None:
    input[0] = 1


def negative(outs: Any, ins: Any) -> None:
    outs[0][1][0] = -1


def test_bad_calls() -> None:
    def refused(kind: type[Exception], text: str, *inputs: Any, **changes: Any) -> None:
        given = {"run_fn": plus_one, **ONE, **changes}
        with pytest.raises(kind) as caught:
            numba_function(*(inputs or (vectors(),)), **given)
        assert text in str(caught.value)

    refused(TypeError, "argument `in_types`", in_types=[types.UINT8])
    refused(TypeError, "argument `ins_ndim`: input 0", ins_ndim=[2])
    refused(TypeError, "one for each of 2 inputs", vectors(), vectors())
    refused(ValueError, "argument `outs_ndim`", outs_ndim=[1, 1])
    refused(ValueError, "argument `setup_fn`", outs_ndim=[2])
    refused(ValueError, "argument `setup_fn`", outs_ndim=[1, 1], out_types=[types.INT32] * 2)
    refused(TypeError, "no float16", out_types=[types.FLOAT16])
    refused(TypeError, "argument `out_types`", out_types=["nothing"])
    refused(ValueError, "a number of axes", outs_ndim=[-1])
    refused(TypeError, "argument `run_fn`: expected a function", run_fn=3)
    refused(TypeError, "writes_input does not compile", run_fn=writes_input)
    refused(ValueError, "extents of 0 and more, got (-1,)", setup_fn=negative)


def busy(output: Any, input: Any) -> None:
    total = 0
    for turn in range(60_000_000):
        total = (total * 31 + turn) % 1_000_003
    output[:] = total


@pytest.mark.full
def test_no_interpreter_lock() -> None:
    """Python goes on in another thread while the function runs: within one call of some, since a
    machine with other work may not let it."""
    one = gradiva.batch([np.zeros(1, np.int32)])
    quick = {**ONE, "run_fn": busy}
    numba_function(one, **quick)

    def ticks() -> int:
        done = threading.Event()

        def call() -> None:
            numba_function(one, **quick)
            done.set()

        thread = threading.Thread(target=call)
        thread.start()
        count = 0
        while not done.wait(0.005):
            count += 1
        thread.join()
        return count

    assert any(ticks() >= 5 for _ in range(20))


@pytest.mark.full
def test_in_a_pipeline_it_runs_though_unused() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        source = fn.external_source(lambda info: vectors().at(0), batch=False)
        numba_function(source, run_fn=plus_one, **ONE)
        return numba_function(source, run_fn=plus_one, name="second", **ONE)

    pipe = pipeline()
    (result,) = pipe.run()
    assert str(pipe.graph).count("numba_function") == 2
    pipe.close()
    np.testing.assert_array_equal(result.as_array(), [[1, 2, 3, 4]] * 2)


def refuses(output: Any, input: Any) -> None:
    if input.size > 0:
        raise ValueError("no such input")


def refuse_batch(outputs: Any, inputs: Any) -> None:
    if len(inputs) > 0:
        raise ValueError("no such inputs")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.full
def test_memory_of_a_call_that_raises_comes_back(whole: bool) -> None:
    """Compiled code that is left by an exception does not let go of what it counts."""
    large = gradiva.batch([np.zeros(50_000, np.int32)] * 3)
    gc.collect()
    before = gradiva.backend.memory_stats().leased
    for _ in range(3):
        with pytest.raises(gradiva.OperatorRuntimeError, match="no such input"):
            numba_function(
                large, run_fn=refuse_batch if whole else refuses, batch_processing=whole, **ONE
            )
    assert gradiva.backend.memory_stats().leased == before


def test_scripts_ask_the_class_whether_a_gpu_will_do() -> None:
    assert NumbaFunction._check_minimal_numba_version(False)
    assert not NumbaFunction._check_cuda_compatibility(False)
    with pytest.raises(gradiva.OperatorRuntimeError, match="on the CPU alone"):
        NumbaFunction._check_cuda_compatibility()
