"""Data sets of TensorFlow over pipelines, and iterators that hand out eager tensors."""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

from gradiva import Pipeline, fn, pipeline_def
from gradiva.eager.runtime.host_memory import allocate

from .pipelines import labels, leased, numbered, shapes_that_differ, spans
from .refusals import REFUSALS

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("tensorflow")]


def values(tensor: Any) -> list[int]:
    return [int(one) for one in np.asarray(tensor).ravel()]


class Exported:
    """A tensor for NumPy's `from_dlpack`: before 2.20 those of TensorFlow have no such method."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        import tensorflow as tf

        return tf.experimental.dlpack.to_dlpack(self._tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def address(tensor: Any) -> int:
    where: int = np.from_dlpack(Exported(tensor)).ctypes.data
    return where


class TestIterator:
    """Eager tensors."""

    def test_an_epoch_without_copies(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        addresses = []

        class Noted(DALIGenericIterator):
            def _convert(self, name: Any, batch: Any) -> Any:
                if name == "data":
                    addresses.append(batch.data_ptr())
                return super()._convert(name, batch)

        iterator = Noted(numbered(6, 4), ["data", "label"], reader_name="reader")
        turns = list(iterator)
        assert [values(turn["label"]) for turn in turns] == [[0, 1, 2, 3], [4, 5, 0, 1]]
        for turn, begin in zip(turns, addresses, strict=True):
            assert isinstance(turn["data"], tf.Tensor)
            assert turn["data"].shape == (4, 64, 32)
            assert address(turn["data"]) == begin
            assert begin % 64 == 0
            assert values(turn["data"][:, 0, 0]) == values(turn["label"])

    def test_memory_is_leased_while_tensorflow_has_it(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        iterator = DALIGenericIterator(numbered(64, 4), ["data", "label"], reader_name="reader")
        held = next(iterator)["data"]
        kept = held.numpy().copy()
        for turn in iterator:
            del turn
        assert np.array_equal(held.numpy(), kept)
        iterator._pipes[0].close()
        gc.collect()
        before = leased()
        del held
        gc.collect()
        assert before - leased() >= spans()

    def test_memory_that_is_not_aligned_is_copied(self, tf: Any) -> None:
        import gradiva
        from gradiva.plugin.tf.tensors import to_tensor

        whole = allocate(4097, np.dtype(np.float32))
        whole[:] = 7
        for given in (whole[1:].reshape(4, -1), whole[:0].reshape(0, 3)):
            batch = gradiva.as_batch(given)
            tensor = to_tensor(batch)
            assert np.array_equal(tensor.numpy(), batch.as_array())
            assert not given.size or address(tensor) % 64 == 0 != given.ctypes.data % 64
        fixed = gradiva.as_batch(np.broadcast_to(np.float32(3), (2, 5)))
        assert values(to_tensor(fixed)) == [3] * 10

    @pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16"])
    def test_dtypes(self, tf: Any, dtype: str) -> None:
        import gradiva
        from gradiva.plugin.tf.tensors import to_tensor

        tensor = to_tensor(gradiva.cast(gradiva.as_batch(np.eye(3, dtype=np.uint8)), dtype=dtype))
        assert tensor.dtype == tf.as_dtype(dtype)
        assert np.array_equal(tf.cast(tensor, tf.float32).numpy(), np.eye(3))

    def test_tuples_and_several_pipelines(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator, LastBatchPolicy

        partial: dict[str, Any] = {
            "reader_name": "reader",
            "last_batch_policy": LastBatchPolicy.PARTIAL,
        }
        data, label = list(DALIGenericIterator(numbered(5, 3), **partial))[-1]
        assert data.shape == (2, 64, 32)
        assert values(label) == [3, 4]
        both = next(DALIGenericIterator([numbered(5, 3), numbered(5, 3)], size=5))
        assert [values(turn[1]) for turn in both] == [[0, 1, 2]] * 2

    def test_resumed_in_the_middle(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        def make(**options: Any) -> Any:
            pipe = numbered(7, 2, enable_checkpointing=True, **options)
            return DALIGenericIterator(pipe, reader_name="reader")

        iterator = make()
        next(iterator)
        (saved,) = iterator.checkpoints()
        rest = [values(label) for _, label in islice(iterator, 3)]
        again = make(checkpoint=saved)
        assert [values(label) for _, label in islice(again, 3)] == rest == [[2, 3], [4, 5], [6, 0]]

    def test_ragged_batches(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        iterator = DALIGenericIterator(shapes_that_differ(), ["x"])
        with pytest.raises(ValueError, match=r"output 'x': .*different shapes"):
            next(iterator)

    @REFUSALS
    def test_refusals(self, tf: Any, refuse: Callable[[Any], None]) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        refuse(DALIGenericIterator)

    def test_keras_fits(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Input((64, 32)), layers.Flatten(), layers.Dense(1)])
        model.compile("sgd", "mse")
        iterator = DALIGenericIterator(numbered(6, 2, pad=True), reader_name="reader")
        data = iterator.dataset(steps=len(iterator))
        history = model.fit(data, epochs=2, verbose=0, shuffle=False)
        assert len(history.history["loss"]) == 2
        assert iterator._epoch == 1  # counted from 0
        model.fit((turn for turn in iterator), steps_per_epoch=2, verbose=0, shuffle=False)
        from gradiva.plugin.tf import DALIDataset

        endless = DALIDataset(numbered(6, 2), batch_size=2)
        model.fit(endless, epochs=2, steps_per_epoch=4, verbose=0, shuffle=False)

    def test_data_sets_of_an_iterator(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIGenericIterator

        named = DALIGenericIterator(numbered(5, 2), ["data", "label"], reader_name="reader")
        turns = [values(turn["label"]) for turn in named.dataset()]
        assert turns == [[0, 1], [2, 3], [4, 0]]
        with pytest.raises(TypeError, match=r"dataset: .*dtype of output 'x'"):
            DALIGenericIterator(shapes_that_differ(), ["x"]).dataset()
        with pytest.raises(ValueError, match="a data set has one pipeline"):
            DALIGenericIterator([numbered(5, 2), numbered(5, 2)], size=5).dataset()


class TestDataset:
    """`DALIDataset`."""

    def test_batches(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIDataset, dataset_options

        shapes = ((2, None, 32), (2, 1))
        data = DALIDataset(
            numbered(5, 9), (tf.float32, tf.int32), shapes, batch_size=2, num_threads=1
        )
        assert isinstance(data, tf.data.Dataset)
        assert isinstance(data, DALIDataset)
        assert data.element_spec[0] == tf.TensorSpec((2, None, 32), tf.float32)
        # Each loop begins at the beginning; there is no end.
        for _ in range(2):
            seen = [values(label) for _, label in data.take(4)]
            assert seen == [[0, 1], [2, 3], [4, 0], [1, 2]]
        composed = data.map(lambda x, y: (x * 2, y)).unbatch().batch(3)
        first, numbers = next(iter(composed.with_options(dataset_options())))
        assert values(first[:, 0, 0]) == [0, 2, 4]
        assert values(numbers) == [0, 1, 2]

    def test_nothing_is_copied(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIDataset

        addresses = []

        class Noted(DALIDataset):
            def _fitted(self, number: int, batch: Any) -> Any:
                addresses.append(batch.data_ptr())
                return super()._fitted(number, batch)

        data = Noted(numbered(8, 4), batch_size=4)
        tensors = [tensor for tensor, _ in data.take(3)]
        assert [address(tensor) for tensor in tensors] == addresses[:6:2]

    def test_dtypes_of_the_graph(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIDataset
        from gradiva.plugin.tf.experimental import DALIDatasetWithInputs

        data = DALIDataset(numbered(5, 2), batch_size=2)
        assert [spec.dtype for spec in data.element_spec] == [tf.float32, tf.int32]
        with pytest.raises(TypeError, match=r"`output_dtypes`: the graph does not know.*output 0"):
            DALIDatasetWithInputs(shapes_that_differ())

    @pytest.mark.parametrize(
        ("shape", "batch_size", "made"),
        [
            ((2, 1), 2, (2, 1)),
            ((2,), 2, (2,)),
            (None, 2, (2, 1)),
            ((None, None), 2, (2, 1)),
            ((1,), 1, (1,)),
            ((), 1, ()),
        ],
    )
    def test_axes_of_one_element(self, tf: Any, shape: Any, batch_size: int, made: Any) -> None:
        from gradiva.plugin.tf import DALIDataset

        @pipeline_def(num_threads=1)
        def pipe() -> Any:
            return labels(4)

        data = DALIDataset(
            pipe(batch_size=2), tf.int32, None if shape is None else (shape,), batch_size=batch_size
        )
        (tensor,) = next(iter(data))
        assert tensor.shape == made

    def test_threads_end_with_the_loop(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIDataset

        made: list[Any] = []

        class Noted(DALIDataset):
            def _new_pipeline(self) -> Any:
                made.append(super()._new_pipeline())
                return made[-1]

        data = Noted(numbered(5, 2), batch_size=2)
        turns = iter(data)
        next(turns)
        assert not made[0]._runtime.executor.closed
        del turns
        gc.collect()
        assert made[0]._runtime.executor.closed

    def test_mistakes(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIDataset

        pipe = numbered(5, 2)
        both = (tf.float32, tf.int32)
        with pytest.raises(TypeError, match=r"`output_dtypes`: expected a tf.DType, or a tuple"):
            DALIDataset(pipe, list(both))
        with pytest.raises(ValueError, match="`output_dtypes`: expected one for each of 2 outputs"):
            DALIDataset(pipe, tf.float32)
        with pytest.raises(ValueError, match="`output_shapes`: expected one for each of 2 outputs"):
            DALIDataset(pipe, both, ((2,), (2,), (2,)))
        with pytest.raises(TypeError, match=r"`output_shapes`: .*expected a tuple of shapes"):
            DALIDataset(pipe, both, ("wide", 2))
        with pytest.raises(ValueError, match=r"`dtypes` is the old name.*give one"):
            DALIDataset(pipe, both, dtypes=both)
        with pytest.warns(DeprecationWarning, match="`dtypes` is the old name of `output_dtypes`"):
            DALIDataset(pipe, dtypes=list(both))
        with pytest.raises(ValueError, match=r"external sources: .*DALIDatasetWithInputs"):
            DALIDataset(shapes_that_differ(), tf.float32)
        with pytest.raises(TypeError, match="input_datasets"):
            DALIDataset(pipe, both, input_datasets={})  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="`pipeline`: expected a Pipeline"):
            DALIDataset(both)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="`batch_size`: expected a positive"):
            DALIDataset(pipe, both, batch_size=-1)

    def test_batches_that_are_not_what_was_declared(self, tf: Any) -> None:
        from gradiva.plugin.tf import DALIDataset

        wrong = DALIDataset(numbered(5, 2), (tf.float32, tf.int64), batch_size=2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="output 1 has another dtype"):
            next(iter(wrong))
        shapes = ((2, 3, 32), (2, 1))
        wide = DALIDataset(numbered(5, 2), (tf.float32, tf.int32), shapes, batch_size=2)
        with pytest.raises(tf.errors.InvalidArgumentError, match="output 0 has another shape"):
            next(iter(wide))

    def test_what_scripts_ask_for(self) -> None:
        from gradiva.plugin import tf as ours

        assert ours.dataset_compatible_tensorflow()
        assert ours.dataset_inputs_compatible_tensorflow()
        assert ours.dataset_distributed_compatible_tensorflow()


def sums(**sources: Any) -> Any:
    """A pipeline that adds external sources, by their names, with further arguments."""
    pipe = Pipeline(batch_size=2, num_threads=1)
    with pipe:
        given = [fn.external_source(name=one, batch=False, **m) for one, m in sources.items()]
        pipe.set_outputs(given[0] + given[-1])
    return pipe


class TestInputs:
    """`DALIDatasetWithInputs`."""

    def test_samples_and_batches(self, tf: Any) -> None:
        from gradiva.plugin.tf.experimental import DALIDatasetWithInputs, Input

        numbers = tf.data.Dataset.range(7)
        tens = tf.data.Dataset.range(0, 100, 10).batch(3)
        data = DALIDatasetWithInputs(
            sums(a={}, b={}),
            tf.int64,
            batch_size=3,
            input_datasets={"a": numbers, "b": Input(tens, batch=True)},
        )
        with pytest.raises(tf.errors.OpError):
            list(data)  # the last batches of the two have 1 and 3 samples
        data = DALIDatasetWithInputs(
            sums(a={}, b={}),
            tf.int64,
            batch_size=3,
            input_datasets={"a": numbers, "b": Input(tens.unbatch())},
        )
        for _ in range(2):
            assert [values(one) for (one,) in data] == [[0, 11, 22], [33, 44, 55], [66]]

    def test_files(self, tf: Any, photographs: Any) -> None:
        from gradiva.plugin.tf.experimental import DALIDatasetWithInputs

        names = sorted(map(str, photographs.glob("*/*.jpg")))

        @pipeline_def(batch_size=2, num_threads=1)
        def pipe() -> Any:
            return fn.resize(fn.decoders.image(fn.external_source(name="files")), size=(8, 8))

        files = tf.data.Dataset.from_tensor_slices(names).map(tf.io.read_file)
        data = DALIDatasetWithInputs(
            pipe(), tf.uint8, batch_size=4, input_datasets={"files": files}
        )
        seen = [tensor.shape for (tensor,) in data]
        assert sum(shape[0] for shape in seen) == len(names)
        assert set(map(tuple, (shape[1:] for shape in seen))) == {(8, 8, 3)}

    def test_sources_run_as_they_are(self, tf: Any) -> None:
        from gradiva.plugin.tf.experimental import DALIDatasetWithInputs

        made = iter([np.full((2, 3), step, np.int32) for step in range(3)])

        @pipeline_def(batch_size=2, num_threads=1)
        def pipe() -> Any:
            return fn.external_source(made)

        data = DALIDatasetWithInputs(pipe(), tf.int32, batch_size=2)
        assert [values(one)[0] for (one,) in data] == [0, 1, 2]

    def test_mistakes(self, tf: Any) -> None:
        from gradiva.plugin.tf.experimental import DALIDatasetWithInputs, Input

        numbers = tf.data.Dataset.range(7)

        def make(pipe: Any, inputs: Any) -> Any:
            return DALIDatasetWithInputs(pipe, tf.int64, input_datasets=inputs)

        with pytest.raises(TypeError, match="`input_datasets`: expected a dict"):
            make(sums(a={}), [numbers])
        with pytest.raises(TypeError, match="the names of external sources as keys, got 3"):
            make(sums(a={}), {3: numbers})
        with pytest.raises(TypeError, match="the input 'a' is no data set"):
            make(sums(a={}), {"a": [1, 2]})
        with pytest.raises(TypeError, match="Input: argument `dataset`"):
            Input([1, 2])
        with pytest.raises(ValueError, match=r"without a source \('a'\), got 'c'"):
            make(sums(a={}), {"a": numbers, "c": numbers})
        with pytest.raises(ValueError, match="nothing feeds the external sources 'b'"):
            make(sums(a={}, b={}), {"a": numbers})
        with pytest.raises(ValueError, match="'a' has a source already"):
            make(sums(a={"source": lambda info: np.int64(3)}), {"a": numbers})
        nameless = Pipeline(batch_size=2)
        with nameless:
            nameless.set_outputs(fn.external_source())
        with pytest.raises(ValueError, match="has no name"):
            make(nameless, {})
        pair = Pipeline(batch_size=2)
        with pair:
            pair.set_outputs(*fn.external_source(name="a", num_outputs=1))
        with pytest.raises(ValueError, match="several outputs"):
            make(pair, {"a": numbers})
        with pytest.raises(ValueError, match="has two layouts; expected 'X'"):
            make(sums(a={"layout": "X"}), {"a": Input(numbers, layout="Y")})
        with pytest.raises(NotImplementedError, match="cycle='raise'"):
            make(sums(a={"source": [np.int64(3)], "cycle": "raise"}), {})
        pairs = make(sums(a={}), {"a": tf.data.Dataset.zip(numbers, numbers)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must give single tensors"):
            next(iter(pairs))
