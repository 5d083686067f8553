"""Which epoch, step and sample a schedule sees: of readers, shards, sources, resumed runs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorRuntimeError, fn, pipeline_def
from gradiva.eager.contexts.checkpoint_files import CheckpointError
from tests.capture.schedules import (
    ANGLE,
    COUNT,
    LIGHT,
    RANGE,
    SIZE,
    augmented,
    dynamic,
    make_folder,
    one_by_one,
    pipeline,
    plain,
    reader,
    run,
)

pytestmark = pytest.mark.core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_folder(tmp_path_factory.mktemp("pictures"))


def test_a_pipeline_across_epochs_takes_the_epoch_of_the_first_sample(folder: str) -> None:
    def sizes(files: Any) -> tuple[Any, ...]:
        return (gradiva.resize(gradiva.decoders.image(files), size=SIZE),)

    found = run(pipeline(folder, sizes), 7)
    heights = [{shape[0] for _, shape, _ in step[0]} for step in found]
    # Batches of three begin at the samples 0, 3, 6 of epoch 0, 2, 5 of epoch 1, 1 and 4 of epoch 2.
    assert heights == [{8}, {8}, {8}, {13}, {13}, {17}, {17}]


def test_resumed_in_the_middle(folder: str) -> None:
    whole = run(pipeline(folder), 8)
    first = pipeline(folder)
    assert run(first, 5) == whole[:5]
    assert run(pipeline(folder, checkpoint=first.checkpoint()), 3) == whole[5:]
    source = reader(folder)
    gradiva.random.set_seed(5)
    once = dynamic(folder, 2)
    gradiva.random.set_seed(5)
    for number, (files, _) in enumerate(source.next_epoch(batch_size=3)):
        assert plain(augmented(files)) == once[number]
        if number == 1:
            break
    other = reader(folder)
    other.set_state(source.get_state())
    rest = [plain(augmented(files)) for files, _ in other.next_epoch(batch_size=3)]
    rest += [plain(augmented(files)) for files, _ in other.next_epoch(batch_size=3, capture=True)]
    assert rest == once[2:]


def test_a_checkpoint_belongs_to_a_schedule(folder: str) -> None:
    def sized(schedule: Any) -> Any:
        def body(files: Any) -> tuple[Any, ...]:
            return (gradiva.resize(gradiva.decoders.image(files), size=schedule),)

        return body

    def slow(epoch: int) -> int:
        return 8 + epoch

    def fast(epoch: int) -> int:
        return 8 + 2 * epoch

    for one, other in (
        (gradiva.schedule({0: 8, 2: 17}), gradiva.schedule({0: 8, 2: 18})),
        (gradiva.schedule(slow), gradiva.schedule(fast)),
    ):
        held = pipeline(folder, sized(one)).checkpoint()
        pipeline(folder, sized(one), checkpoint=held).build()
        with pytest.raises(CheckpointError, match="argument `size` was schedule"):
            pipeline(folder, sized(other), checkpoint=held).build()


def test_shards_see_the_same_epochs_and_steps(folder: str) -> None:
    """Of seven samples one shard has three, and one four; with batches of two both have two."""

    def numbers(files: Any) -> tuple[Any, ...]:
        one = gradiva.schedule({0: 0, 1000: 1000})
        two = gradiva.schedule({0: 0, 1000: 1000}, per="step")
        three = gradiva.schedule({0: 0, 1000: 1000}, per="sample")
        zeros = gradiva.random.uniform(values=[0.0], batch_size=files.batch_size)
        return zeros + one, zeros + two, zeros + three

    found = []
    for shard in range(2):
        source = reader(folder, num_shards=2, shard_id=shard)
        for _ in range(3):
            for files, _ in source.next_epoch(batch_size=2):
                epochs, steps, samples = numbers(files)
                assert files.positions is not None
                assert samples.numpy().tolist() == files.positions.tolist()
                assert len({*epochs.numpy().tolist()}) == len({*steps.numpy().tolist()}) == 1
                found.append((shard, int(epochs.numpy()[0]), int(steps.numpy()[0])))
    assert found == [(s, e, 2 * e + k) for s in range(2) for e in range(3) for k in range(2)]


def test_no_value_outside_of_loops(folder: str) -> None:
    image = np.zeros((4, 6, 3), np.uint8)
    with pytest.raises(OperatorRuntimeError, match=r"has no value here.*gradiva\.step") as caught:
        gradiva.resize(image, size=SIZE)
    assert caught.value.argument == "size"
    with pytest.raises(OperatorRuntimeError, match="has no value here"):
        gradiva.random.uniform(range=RANGE)
    with pytest.raises(OperatorRuntimeError, match="has no value here"):
        gradiva.as_batch([image]) * LIGHT

    def resized(image: Any) -> Any:
        return gradiva.resize(image, size=SIZE)

    compiled = gradiva.capture.compile(resized)
    with pytest.raises(OperatorRuntimeError, match="has no value here"):
        compiled(image)
    for resize in (resized, compiled):
        for epoch in range(3):
            with gradiva.step(epoch=epoch):
                assert resize(image).shape == ((8, 8, 3), (13, 13, 3), (17, 17, 3))[epoch]
    with gradiva.step(30, 3), pytest.raises(OperatorRuntimeError, match="which epoch") as caught:
        gradiva.resize(image, size=SIZE)
    assert caught.value.argument == "size"
    with gradiva.step(20, 2):  # a step of its own number: 20 // 2
        angle = gradiva.rotate(image, angle=ANGLE).numpy()
    np.testing.assert_array_equal(angle, gradiva.rotate(image, angle=ANGLE.at(step=10)).numpy())


def test_the_batch_says_the_place_and_not_the_time_of_the_call(folder: str) -> None:
    """Of two readers, and of batches that are used later, by another thread."""
    first = [files for files, _ in reader(folder).next_epoch(batch_size=7)]
    source = reader(folder)
    for _ in range(2):
        first += [files for files, _ in source.next_epoch(batch_size=7)]
    heights = []

    def work() -> None:
        for files in first:
            images = gradiva.resize(gradiva.decoders.image(files), size=SIZE)
            heights.append(images.shape[0][0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heights == [8, 8, 13]


def test_external_sources(folder: str) -> None:
    batches = [[np.full((3 + k, 4, 3), k, np.uint8)] * 2 for k in range(3)]
    step = gradiva.schedule({0: 0, 1000: 1000}, per="step")
    epoch = gradiva.schedule({0: 0, 1000: 1000})

    def facts(images: Any) -> tuple[Any, ...]:
        zeros = gradiva.reductions.max(images) * 0
        return zeros + step, zeros + epoch

    def numbers(values: Any) -> list[tuple[float, ...]]:
        one, two = (np.asarray(value.numpy()).tolist() for value in values)
        return list(zip(one, two, strict=True))

    source = gradiva.ExternalSource(batches, cycle="raise")
    found = []
    for _ in range(2):
        while True:
            try:
                found.append(numbers(facts(source(2))))
            except StopIteration:
                break
    wanted = [[(float(k), float(k // 3))] * 2 for k in range(6)]
    assert found == wanted
    captured = gradiva.ExternalSource(batches, cycle="raise")
    assert [numbers(facts(one)) for _ in range(2) for one in captured.captured(2)] == wanted
    state = captured.get_state()
    assert (state["turns"], state["rounds"]) == (6, 1)

    @pipeline_def(batch_size=2, num_threads=2, enable_checkpointing=True)
    def training() -> Any:
        return facts(fn.external_source(source=batches, cycle="raise"))

    pipe = training()
    runs: list[Any] = []
    for _ in range(2):
        for _ in range(3):
            runs.append([np.asarray(x.as_array()) for x in pipe.run()])  # noqa: PERF401
        with pytest.raises(StopIteration):
            pipe.run()
        pipe.reset()
    assert [list(map(tuple, np.stack(one, axis=1).tolist())) for one in runs] == wanted
    more = training(checkpoint=pipe.checkpoint())
    assert [x.as_array().tolist() for x in more.run()] == [[6.0, 6.0], [2.0, 2.0]]


def test_sources_without_epochs() -> None:
    def body() -> Any:
        return gradiva.random.uniform(range=RANGE)

    pipe = pipeline_def(batch_size=2, num_threads=1)(body)()
    with pytest.raises(OperatorRuntimeError, match=r"which epoch(.|\n)*has no epochs"):
        pipe.run()

    def steps() -> Any:
        return fn.random.uniform(range=gradiva.schedule({0: (0, 1), 2: (10, 11)}, per="step"))

    pipe = pipeline_def(batch_size=2, num_threads=1)(steps)()
    lows = [pipe.run()[0].as_array().min() for _ in range(4)]
    assert [int(low) for low in lows] == [0, 5, 10, 10]


def test_one_sample_of_a_pipeline(folder: str) -> None:
    """It has the values of its batch, which may have begun in the epoch before."""
    for options in ({}, {"num_shards": 2, "shard_id": 1}):
        whole = run(pipeline(folder, one_by_one, **options), 7)
        pipe = pipeline(folder, one_by_one, **options)
        for batch in whole:
            *values, places = batch
            for number, (_, _, place) in enumerate(places):
                epoch, index = divmod(int(np.frombuffer(place, np.float32)[0]), COUNT)
                found = plain([value] for value in pipe.sample(epoch, index))
                assert [one[0] for one in found[:-1]] == [one[number] for one in values]


def test_epochs_of_different_lengths(folder: str) -> None:
    """Steps and samples are counted over what the epochs really had; buckets have their batches."""

    def varying(epoch: int, rng: Any) -> Any:
        return np.arange(COUNT)[: 3 + epoch]

    step = gradiva.schedule({0: 0, 1000: 1000}, per="step")
    sample = gradiva.schedule({0: 0, 1000: 1000}, per="sample")

    def numbers(source: Any, epochs: int) -> list[Any]:
        found = []
        for _ in range(epochs):
            for files, _ in source.next_epoch(batch_size=2):
                zeros = gradiva.random.uniform(values=[0.0], batch_size=len(files))
                one, two = (zeros + step).numpy(), (zeros + sample).numpy()
                assert len({*one.tolist()}) == 1
                found.append((int(one[0]), two.tolist()))
        return found

    source = gradiva.readers.File(file_root=folder, sampler=varying)
    found = numbers(source, 3)
    assert [one for one, _ in found] == [0, 1, 2, 3, 4, 5, 6]
    assert [one for _, many in found for one in many] == list(range(3 + 4 + 5))
    resumed = gradiva.readers.File(file_root=folder, sampler=varying)
    resumed.set_state(source.get_state())
    assert numbers(resumed, 2)[0] == (7, [12.0, 13.0])
    bucket = gradiva.samplers.Bucket(key="bytes", max_batch=2)
    source = gradiva.readers.File(file_root=folder, bucket=bucket, random_shuffle=True)
    found = numbers(source, 2)
    assert [one for one, _ in found] == list(range(len(found)))
