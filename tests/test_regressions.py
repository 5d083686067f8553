"""Defects that were found and mended, each with the call that showed it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, random, readers
from gradiva.capture.recording.data_node import WholeBatch
from gradiva.eager.operators.cases import samples
from gradiva.ops.image.resize.taps import TRIANGULAR, _spread, axis_taps


def test_fill_values_are_checked_against_every_sample() -> None:
    """One fill value per channel, where a later sample has more channels, read foreign memory."""
    planes = samples((3, 2, 2), (8, 2, 2), layout="CHW")
    options: dict[str, Any] = {"crop": (3, 3), "out_of_bounds_policy": "pad"}
    with pytest.raises(ValueError, match=r"`fill_values`.*8 channels"):
        gradiva.crop(planes, fill_values=[7, 8, 9], **options)
    assert gradiva.crop(planes, fill_values=7, **options).at(1)[7, 0, 0] == 7


def test_a_tensor_of_a_reader_can_stand_for_a_batch(photographs: Path) -> None:
    """Its one position was used for four samples, beyond the end of the array."""
    reader = readers.File(file_root=str(photographs))
    file, label = next(iter(reader.next_epoch()))
    values = random.uniform(label, batch_size=4)
    assert values.shape == [(1,)] * 4
    total = label + gradiva.as_batch(np.arange(3, dtype=np.int32).reshape(3, 1))
    assert total.positions is None
    assert gradiva.decoders.image(file).provenance is not None


def test_an_unfinished_loop_does_not_disturb_a_later_one(photographs: Path) -> None:
    root = str(photographs)

    def draw() -> list[float]:
        drawn = []
        for files, _ in readers.File(file_root=root).next_epoch(batch_size=3):
            drawn += [float(value) for value in random.uniform(batch_size=len(files))]
        return drawn

    random.set_seed(2)
    expected = draw()
    held = readers.File(file_root=root).next_epoch(batch_size=2)
    next(held)
    random.uniform(batch_size=2)
    next(held)
    random.uniform(batch_size=2)
    assert draw() == expected
    del held


def test_two_sources_give_the_same_values_in_both_modes(photographs: Path) -> None:
    """Also where the outputs of one of them are not used."""
    root = str(photographs)

    @gradiva.pipeline_def(batch_size=3, seed=2)
    def program() -> Any:
        fn.readers.file(file_root=root)
        fn.readers.file(file_root=root, num_shards=2, shard_id=1)
        return random.uniform(batch_size=WholeBatch())

    pipe = program()
    random.set_seed(2)
    one = readers.File(file_root=root).next_epoch(batch_size=3)
    two = readers.File(file_root=root, num_shards=2, shard_id=1).next_epoch(batch_size=3)
    for _pair in zip(one, two, strict=False):
        eager = random.uniform(batch_size=3)
        np.testing.assert_array_equal(eager.as_array(), pipe.run()[0].as_array())
        break
    pipe.close()


@pytest.mark.parametrize("threaded", [True, False])
def test_reset_before_the_end_changes_nothing(threaded: bool) -> None:
    @gradiva.pipeline_def(batch_size=1, exec_async=threaded, prefetch_queue_depth=4)
    def program() -> Any:
        return fn.external_source([np.full((1, 1), i) for i in range(3)], cycle="raise")

    pipe = program()
    seen = []
    for _ in range(3):
        seen.append(int(pipe.run()[0].at(0)[0]))
        pipe.reset()
    assert seen == [0, 1, 2]
    with pytest.raises(StopIteration):
        pipe.run()
    pipe.reset()
    assert int(pipe.run()[0].at(0)[0]) == 0
    pipe.close()


def test_the_least_integer() -> None:
    assert gradiva.tensor(-(2**63)).item() == -(2**63)


def test_operators_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(gradiva.flip)) is gradiva.flip
    assert pickle.loads(pickle.dumps(random.uniform)) is random.uniform


def test_seeds(photographs: Path) -> None:
    """A reader's seed is no useless one; large seeds mean the same in both modes."""

    @gradiva.pipeline_def(batch_size=2)
    def program() -> Any:
        files, _ = fn.readers.file(file_root=str(photographs), random_shuffle=True, seed=3)
        return files, fn.random.uniform(seed=2**64 + 5)

    names = program().run()[0].source_info()
    reader = readers.File(file_root=str(photographs), random_shuffle=True, seed=3)
    assert next(iter(reader.next_epoch(batch_size=2)))[0].source_info() == names
    images = samples((2, 2, 3))
    with pytest.warns(UserWarning, match="`seed` has no effect") as caught:
        gradiva.flip(images, seed=3)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("operand", [2**40, None, "x", object()])
def test_errors_of_operands_name_operator_and_line(operand: Any) -> None:
    with pytest.raises(gradiva.GradivaError, match=r"(?s)^add: .*test_regressions.py"):
        samples((2, 2, 3)) + operand


def test_errors_of_readers_name_the_users_line(photographs: Path, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.jpg")
    with pytest.raises(RuntimeError, match=r"(?s)gone.jpg.*test_regressions.py"):
        list(readers.File(files=[gone]).next_epoch(batch_size=1, progress=True))
    lazy = readers.File(file_root=gone, lazy_init=True)
    with pytest.raises(ValueError, match=r"(?s)readers.file: .*test_regressions.py"):
        lazy.get_metadata()


def test_errors_of_resize_name_argument_and_sample() -> None:
    images = samples((4, 4, 3), (4, 4, 3))
    with pytest.raises(gradiva.OperatorValueError) as caught:
        gradiva.resize(images, resize_x=[3.0, np.nan])
    assert (caught.value.argument, caught.value.sample) == ("resize_x", 1)


def test_lists_alone_give_the_number_of_samples() -> None:
    drawn = random.normal(mean=[0, 50], stddev=0)
    assert [float(value) for value in drawn] == [0, 50]


def test_a_folder_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    (tmp_path / "a").mkdir()
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("a"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(ValueError, match=r"`file_root`.*Permission denied"):
        readers.File(file_root=str(tmp_path))


def test_a_batch_of_the_user_is_not_shared_unless_asked() -> None:
    own = gradiva.as_batch(np.zeros((2, 3), np.uint8))

    def output(**options: Any) -> gradiva.Batch:
        pipe = gradiva.pipeline_def(batch_size=2, exec_async=False)(
            lambda: fn.external_source(lambda: own, **options)
        )()
        return pipe.run()[0]

    assert not np.shares_memory(output().data, own.data)
    assert np.shares_memory(output(no_copy=True).data, own.data)
    assert own.provenance is None


@pytest.mark.parametrize("end", [1e10, -1e10, 1e6])
@pytest.mark.parametrize("relative", [True, False])
def test_a_region_far_outside_is_refused(end: float, relative: bool) -> None:
    """It took minutes: the taps of a pixel grow with the region."""
    with pytest.raises(ValueError, match=r"(?s)`roi_end`.*sample 0"):
        gradiva.resize(
            samples((6, 8, 3)), size=4, roi_start=(0, 0), roi_end=(end, 1), roi_relative=relative
        )


def test_sizes_that_overflow() -> None:
    images = samples((6, 8, 3), (5, 8, 3))
    huge: list[Any] = [
        lambda: gradiva.resize(images, size=(1e10, 1e10)),
        lambda: gradiva.resize(images, size=(1e9, 1e9)),
        lambda: gradiva.resize(images, resize_x=2.0**62),
        lambda: gradiva.crop(images, crop=(1e10, 1e10), out_of_bounds_policy="pad"),
        lambda: gradiva.crop_mirror_normalize(
            images, crop=(2.0**31, 2.0**31), out_of_bounds_policy="pad"
        ),
        lambda: random.uniform(shape=(2**62, 8), batch_size=2),
        lambda: random.uniform(shape=[[2**31, 2**31], [1, 1]], batch_size=2),
        lambda: random.uniform(batch_size=2**62),
    ]
    for call in huge:
        with pytest.raises(gradiva.OperatorValueError, match=r"(?s)too large|at most"):
            call()


@pytest.mark.parametrize("seed", ["a", 1.5, [1]])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(TypeError, match=r"random.uniform: argument `seed`: expected an integer"):
        random.uniform(seed=seed)
    with pytest.raises(TypeError, match="integer"):
        random.set_seed(seed)
    with pytest.raises(TypeError, match="Pipeline: argument `seed`"):
        gradiva.Pipeline(batch_size=1, seed=seed)


def test_unusable_input_says_why() -> None:
    for array in (np.zeros((2, 2, 3), complex), np.array(["x"]), np.array([object()])):
        with pytest.raises(TypeError, match=r"resize: input 0: expected a boolean, integer"):
            gradiva.resize(array, size=4)


def test_smaller_batches_of_a_source_in_dynamic_mode() -> None:
    source = gradiva.ExternalSource([[np.zeros(1)] * 3, [np.zeros(1)], [np.zeros(1)] * 4])
    assert [len(source(batch_size=3)) for _ in range(2)] == [3, 1]
    with pytest.raises(ValueError, match=r"(?s)too large.*test_regressions.py"):
        source(batch_size=3)


def test_an_error_is_not_hidden_by_the_end_of_another_source() -> None:
    def fails() -> Any:
        raise OSError("disk")

    @gradiva.pipeline_def(batch_size=1)
    def program() -> Any:
        return fn.external_source(fails), fn.external_source(iter([]))

    with pytest.raises(RuntimeError, match="disk"):
        program().run()


def test_the_device_of_a_source_is_not_ignored() -> None:
    with pytest.raises(
        RuntimeError, match=r"(?s)ExternalSource: .*not available.*test_regressions"
    ):
        gradiva.ExternalSource([np.zeros(1)], device="gpu")


def test_select_with_a_mask() -> None:
    batch = gradiva.batch([1, 2, 3])
    assert [int(value) for value in batch.select([True, False, True])] == [1, 3]
    assert len(batch.select([])) == 0
    with pytest.raises(TypeError, match="integers or a mask"):
        batch.select([0.5])  # type: ignore[list-item]


def test_a_tensor_for_a_fixed_argument() -> None:
    images = samples((2, 2, 3))
    one: Any = gradiva.tensor(2.0)
    two: Any = gradiva.tensor([1.0, 2.0])
    assert gradiva.crop_mirror_normalize(images, scale=one).at(0).max() > 255
    with pytest.raises(TypeError, match="`scale`"):
        gradiva.crop_mirror_normalize(images, scale=two)


@pytest.mark.parametrize("antialias", [0, 1])
def test_an_axis_without_outputs_has_a_filter(antialias: int) -> None:
    """The extent of the output was divided by: the filter was endless, its number of taps junk."""
    assert _spread(0, 0.0, 5.0, antialias) == (5.0 if antialias else 1.0)
    assert axis_taps((50, 0, 0.0, 5.0, TRIANGULAR, antialias)) == (10 if antialias else 2)
