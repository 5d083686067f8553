"""Functions on JAX arrays as operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def
from gradiva.eager.operators.operator import operators
from gradiva.plugin.jax.fn import jax_function

pytestmark = pytest.mark.full


def _mirrored(image: Any) -> Any:
    return image[:, ::-1]


def images(height: int = 4) -> Any:
    rows = np.arange(2 * height * 5 * 3, dtype=np.uint8)
    return rows.reshape(2, height, 5, 3)


def source() -> Any:
    """Takes nothing: a function of one parameter would be told the number of the batch."""
    return images()


def test_a_pipeline(jax: Any) -> None:
    mirrored: Any = jax_function(jax.jit(jax.vmap(_mirrored)))

    @pipeline_def(batch_size=2, num_threads=1)
    def pipe() -> Any:
        given = fn.external_source(source, layout="HWC")
        # Operators that need a layout come after it.
        made = mirrored(given)
        return made, fn.flip(made), given

    made, back, given = pipe().run()
    assert made.layout == "HWC"
    assert np.array_equal(made.as_array(), given.as_array()[:, :, ::-1])
    assert np.array_equal(back.as_array(), given.as_array())
    assert "jax_function" not in operators


def test_dynamic_mode_without_a_copy_in(jax: Any) -> None:
    given = gradiva.as_batch(np.ones((2, 64, 64), np.float32) * 3)
    held = gradiva.copy(given)
    seen = []

    @jax_function(num_outputs=2, output_layouts=["H", ""])
    def sums(x: Any) -> Any:
        seen.append(x.unsafe_buffer_pointer())
        return x.sum(axis=1), x.max(axis=(1, 2))

    rows, most = sums(held)
    assert seen == [held.data.ctypes.data]
    assert (rows.layout, rows.shape) == ("H", [(64,), (64,)])
    assert (most.layout, most.shape, np.asarray(most).tolist()) == ("", [(), ()], [3.0, 3.0])


def test_without_outputs(jax: Any) -> None:
    seen = []

    @jax_function(num_outputs=0)
    def look(x: Any) -> None:
        seen.append(x.shape)

    @pipeline_def(batch_size=2, num_threads=1, prefetch_queue_depth=1)
    def pipe() -> Any:
        given = fn.external_source(source)
        look(given)
        return given

    pipe().run()
    assert seen[0] == (2, 4, 5, 3)


def test_a_captured_loop_has_the_same_bits(jax: Any) -> None:
    @jax_function
    def halved(x: Any) -> Any:
        return x / 2

    def epoch(capture: bool) -> list[list[float]]:
        reader = gradiva.readers.File(files=[__file__] * 5, labels=[1, 2, 3, 4, 5])
        loop = reader.next_epoch(batch_size=2, capture=capture)
        return [np.asarray(halved(labels)).ravel().tolist() for _, labels in loop]

    assert epoch(True) == epoch(False) == [[0.5, 1.0], [1.5, 2.0], [2.5]]


class TestMistakes:
    """What is refused."""

    @pytest.mark.parametrize(
        ("result", "options", "message"),
        [
            (lambda x: None, {}, "as output 0; expected a JAX array, got None"),
            (lambda x: (x, x), {}, r"expected 1 arrays \(num_outputs\), got 2"),
            (lambda x: x, {"num_outputs": 2}, r"expected 2 arrays"),
            (lambda x: x, {"num_outputs": 0}, r"expected nothing \(num_outputs=0\)"),
            (lambda x: np.zeros(2), {}, "output 0; expected a JAX array, got array"),
            (lambda x: x[:1], {}, r"a leading axis for 2 samples, got the shape \(1, 4, 5, 3\)"),
            (lambda x: x.sum(), {}, r"a leading axis for 2 samples, got the shape \(\)"),
            (lambda x: x, {"output_layouts": "HW"}, "expected 2-D samples for 'HW', got 3-D"),
            (lambda x: x, {"output_layouts": ["HW", "C"]}, "expected one for each of 1, got 2"),
            (lambda x: x, {"num_outputs": -1}, "`num_outputs`: expected 0 or more"),
        ],
    )
    def test_results(self, jax: Any, result: Any, options: dict[str, Any], message: str) -> None:
        function: Any = jax_function
        with pytest.raises((TypeError, ValueError), match=f"jax_function: .*{message}"):
            function(result, **options)(gradiva.as_batch(images()))

    def test_a_function_that_raises(self, jax: Any) -> None:
        def broken(x: Any) -> Any:
            raise KeyError("lost")

        with pytest.raises(RuntimeError, match=r"(?s)broken raised KeyError: 'lost'.*in broken"):
            jax_function(broken)(gradiva.as_batch(images()))

    def test_samples_of_several_shapes(self, jax: Any) -> None:
        ragged = gradiva.batch([np.zeros(2), np.zeros(3)])
        with pytest.raises(ValueError, match=r"input 0: .*different shapes"):
            jax_function(lambda x: x)(ragged)

    def test_arrays_on_several_devices(self, jax: Any) -> None:
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("batch",))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("batch"))
        split = jax_function(lambda x: jax.device_put(x, sharding))
        with pytest.raises(ValueError, match="expected an array on one device, got one split"):
            split(gradiva.as_batch(images()))
        with pytest.raises(ValueError, match="`sharding`: expected processes with one device"):
            jax_function(lambda x: x, sharding=sharding)
        with pytest.raises(TypeError, match=r"`sharding`: expected a jax.sharding.Sharding"):
            jax_function(lambda x: x, sharding="batch")

    def test_no_function(self) -> None:
        with pytest.raises(TypeError, match="`function`: expected a callable"):
            jax_function(3)  # type: ignore[call-overload]
