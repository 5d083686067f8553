"""Stored pipelines: round trips, what is refused, files, and pictures for Graphviz."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import Batch, Pipeline, batch, fn, pipeline_def, types
from gradiva.capture.serialization.files import load
from gradiva.capture.serialization.reader import read_pipeline
from tests.capture.serialization.stored import again, body, feed, pipeline
from tests.everything import EVERYTHING

pytestmark = pytest.mark.core

Build = Callable[[Path], Any]


def same(one: tuple[Batch, ...], other: tuple[Batch, ...]) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert (left.layout, left.dtype, left.shape) == (right.layout, right.dtype, right.shape)
        for index in range(len(left)):
            assert np.array_equal(left.at(index), right.at(index), equal_nan=left.dtype.is_float)


def read(root: Path) -> Any:
    files, labels = fn.readers.file(file_root=str(root), random_shuffle=True, name="Reader", seed=3)
    images = fn.decoders.image_crop(files, crop=(20, 24), crop_pos_x=0.1)
    return fn.resize(images, size=(12, 14), interp_type=types.INTERP_NN), labels


def draw(root: Path) -> Any:
    _, labels = fn.readers.file(file_root=str(root), random_shuffle=True)
    return (
        fn.random.uniform(range=(-1.5, 2.25)),
        fn.random.uniform(range=(0.1, 0.7), seed=11),
        fn.random.coin_flip(probability=0.3),
        fn.random.normal(labels * 1.5, mean=4),
        fn.random.uniform(values=[1, 5, 9], shape=[2], dtype=types.INT16),
        labels,
    )


def draw_before_any_source(root: Path) -> Any:
    early = fn.random.normal()
    _, labels = fn.readers.file(file_root=str(root))
    return early, labels, fn.random.coin_flip(), fn.random.uniform(seed=0)


def two_readers(root: Path) -> Any:
    _, first = fn.readers.file(file_root=str(root), random_shuffle=True, name="first")
    unused = fn.random.uniform()
    drawn = fn.random.uniform()
    _, second = fn.readers.file(file_root=str(root), random_shuffle=True, name="second")
    del unused
    return first, drawn, second, fn.random.uniform(), fn.random.uniform(preserve=True, name="kept")


def shorten(root: Path) -> Any:
    files, _ = fn.readers.file(file_root=str(root))
    images = fn.decoders.image_crop(files, crop=(7, 9))
    return images, images[1:3, -1], images[:, ::-2, 0], images[:], images[2:, None]


def compute(root: Path) -> Any:
    files, labels = fn.readers.file(file_root=str(root))
    images = fn.decoders.image_crop(files, crop=(7, 9))
    return (
        images * 2.5 + 1,
        7 - labels,
        (images > 3) & True,
        -images,
        abs(images),
        ~images,
        labels << 2,
        gradiva.math.clamp(images, 3, 200.5),
        gradiva.math.sqrt(labels),
        images // np.array([1, 2, 3], np.uint8),
        labels + np.int64(1 << 40),
        labels * np.float64(0.25),
        gradiva.math.atan2(np.float16(0.5), labels),
        labels[0] ** 2,
    )


def keep(root: Path) -> Any:
    _, labels = fn.readers.file(file_root=str(root))
    nan = np.array([np.nan, np.inf, -0.0, 0.1], np.float32)
    return (
        labels,
        np.arange(6, dtype=np.int16).reshape(2, 3),
        nan,
        True,
        3,
        0.5,
        np.zeros((0, 3)),
        gradiva.tensor(np.ones((2, 1), np.uint8), layout="HW"),
        np.float16(0.1),
    )


def argue(root: Path) -> Any:
    files, labels = fn.readers.file(file_root=str(root))
    images = fn.decoders.image_crop(files, crop=(7, 9))
    share = gradiva.math.clamp(labels * 0.25, 0, 1)
    yes = labels % 2
    return (
        fn.crop(images, crop=(3, 4), crop_pos_x=share, crop_pos_y=0.3),
        fn.flip(images, vertical=yes),
        fn.brightness(images, brightness=share[0], dtype=types.FLOAT),
        fn.cast(images, dtype="int8"),
        fn.transpose(images, perm=(2, 0, 1)),
        fn.random.coin_flip(probability=share),
    )


SAME_GRAPH: list[Build] = [
    read,
    draw,
    draw_before_any_source,
    two_readers,
    shorten,
    compute,
    keep,
    argue,
]


@pytest.mark.parametrize("build", SAME_GRAPH, ids=lambda build: build.__name__)
def test_round_trip(build: Build, photographs: Path) -> None:
    pipe = pipeline(lambda: build(photographs), seed=9)
    before = body(pipe)
    data = pipe.serialize()
    stored = read_pipeline(data)
    assert stored.options.seed == 9
    # Casts to what DALI takes, and constants of float64, are calls of their own.
    if build not in (keep, argue):
        assert body(again(stored)) == before
    loaded = Pipeline.deserialize(data)
    for _ in range(3):
        same(pipe.run(), loaded.run())


def test_twice_is_once(photographs: Path) -> None:
    for build in SAME_GRAPH:
        first = read_pipeline(pipeline(partial(build, photographs)).serialize())
        once = again(first)
        assert body(again(read_pipeline(once.serialize()))) == body(once)


def test_named_and_new_axes() -> None:
    def build() -> Any:
        images = feed(ndim=3)
        return images[..., 1], images[1, gradiva.newaxis, ::2], images[:, gradiva.newaxis("N")]

    pipe = pipeline(build)
    source = batch(
        [np.arange(60, dtype=np.uint8).reshape(4, 5, 3), np.full((6, 2, 3), 9, np.uint8)]
    )
    stored = read_pipeline(pipe.serialize())
    assert stored.fed == ("x",)
    same(pipe.run(), again(stored, {"x": lambda: source}).run())


def test_numbers_are_kept_as_they_were_written(photographs: Path) -> None:
    def build() -> Any:
        return fn.resize(feed(), resize_x=0.1, resize_y=123.675, max_size=(1e-7, 3e30))

    (made,) = (one for one in read_pipeline(pipeline(build).serialize()).operators if one.inputs)
    assert made.arguments == {"resize_x": 0.1, "resize_y": 123.675, "max_size": [1e-7, 3e30]}


def test_external_sources() -> None:
    def build() -> Any:
        first, second = fn.external_source(
            lambda: None,
            num_outputs=2,
            dtype=[types.FLOAT, types.INT32],
            ndim=1,
            name="pair",
            repeat_last=True,
        )
        return first, second, feed("images") + 1, fn.external_source([], dtype=np.uint8)

    data = pipeline(build).serialize()
    stored = read_pipeline(data)
    assert stored.fed[:3] == ("pair_0", "pair_1", "images")
    assert stored.operators[0].arguments == {"repeat_last": True, "dtype": 9, "ndim": 1}
    unfed = Pipeline.deserialize(data)
    with pytest.raises(
        RuntimeError, match=r"external_source \(pair_0\): there is no data"
    ) as caught:
        unfed.run()
    assert "test_serialize.py" in str(caught.value)
    given = {name: (lambda: batch([np.zeros(1, np.float32)])) for name in stored.fed}
    given["pair_1"] = lambda: batch([np.zeros(1, np.int32)])
    given["images"] = lambda: batch([np.zeros((1, 1, 3), np.uint8)])
    given[stored.fed[3]] = lambda: batch([np.zeros(1, np.uint8)])
    assert len(load(Pipeline, data, None, {}, given).run()) == 4


def test_names_and_sinks() -> None:
    def build() -> Any:
        images = feed()
        fn.flip(images, name="sink", preserve=True)
        fn.transpose(images, perm=(0, 2, 1))
        return fn.flip(images, name="__Flip_2"), fn.flip(images)

    stored = read_pipeline(pipeline(build).serialize())
    assert [one.name for one in stored.operators] == ["x", "sink", "__Flip_2", None]
    assert len({one.label for one in stored.operators}) == 4
    assert stored.operators[1].arguments["preserve"] is True
    pipe = again(stored)
    assert "sink" in pipe._definition.recorder._builder._names.values()
    assert len(pipe._definition.recorder._builder._kept) == 1


def test_options(tmp_path: Path, photographs: Path) -> None:
    pipe = pipeline(
        lambda: read(photographs),
        batch_size=3,
        num_threads=2,
        seed=1 << 62,
        prefetch_queue_depth=5,
        exec_async=False,
    )
    path = tmp_path / "pipe.bin"
    assert pipe.serialize(filename=path) == path.read_bytes()
    loaded = Pipeline.deserialize(filename=str(path))
    assert (loaded.batch_size, loaded.num_threads, loaded.seed) == (3, 2, 1 << 62)
    assert (loaded.prefetch_queue_depth, loaded.exec_async, loaded.exec_pipelined) == (
        5,
        False,
        True,
    )
    other = Pipeline.deserialize(path.read_bytes(), batch_size=1, num_threads=1, seed=4)
    assert (other.batch_size, other.num_threads, other.seed) == (1, 1, 4)
    assert len(other.run()[0]) == 1

    class Mine(Pipeline):
        pass

    assert type(Mine.deserialize(filename=path)) is Mine


def test_deserialize_and_build(photographs: Path) -> None:
    data = pipeline(lambda: read(photographs), batch_size=3, num_threads=2, seed=5).serialize()
    empty = Pipeline(seed=5)
    empty.deserialize_and_build(data)
    assert (empty.batch_size, empty.num_threads) == (3, 2)
    same(empty.run(), Pipeline.deserialize(data).run())
    given = Pipeline(batch_size=2, num_threads=1)
    given.deserialize_and_build(data)
    assert (given.batch_size, given.num_threads) == (2, 1)
    with pytest.raises(TypeError, match="was built"):
        given.deserialize_and_build(data)


def test_define_graph_at_the_last_moment() -> None:
    class Mine(Pipeline):
        def define_graph(self) -> Any:
            return feed()

    assert read_pipeline(Mine(batch_size=2).serialize()).fed == ("x",)
    assert read_pipeline(Pipeline(batch_size=2).serialize(lambda: feed("y"))).fed == ("y",)
    pipe = pipeline(feed)
    with pytest.raises(TypeError, match="are set already"):
        pipe.serialize(feed)
    pipe.build()
    assert read_pipeline(pipe.serialize()).fed == ("x",)


def test_exactly_one_of_bytes_and_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="either `serialized_pipeline` or `filename`"):
        Pipeline.deserialize()
    with pytest.raises(ValueError, match="either `serialized_pipeline` or `filename`"):
        Pipeline.deserialize(b"", "x")
    with pytest.raises(ValueError, match=r"missing.bin(.|\n)*test_serialize.py"):
        Pipeline.deserialize(filename=tmp_path / "missing.bin")
    with pytest.raises(ValueError, match="no regular file"):
        Pipeline.deserialize(filename="/dev/zero")
    with pytest.raises(TypeError, match="expected bytes"):
        Pipeline.deserialize("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a path"):
        Pipeline.deserialize(filename=3)  # type: ignore[arg-type]


def test_files_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pipe.bin"
    path.write_bytes(b"before")
    pipe = pipeline(feed)

    def fail(*arguments: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("gradiva.capture.serialization.files.os.fsync", fail)
        with pytest.raises(ValueError, match="the disk is full"):
            pipe.serialize(filename=path)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("pipe.bin", b"before")]
    data = pipe.serialize(filename=path)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("pipe.bin", data)]
    with pytest.raises(ValueError, match="cannot be written"):
        pipe.serialize(filename=tmp_path / "no folder" / "pipe.bin")


def test_what_has_no_place_in_a_file() -> None:
    generator = gradiva.random.RNG(5)

    def refused(build: Callable[[], Any], problem: str, **options: Any) -> None:
        with pytest.raises(gradiva.GradivaError, match=problem) as caught:
            pipeline(build, **options).serialize()
        assert re.search(r"at .*(test_serialize|stored)\.py:\d+", str(caught.value))

    refused(
        lambda: [feed(), fn.random.uniform(rng=generator), fn.random.uniform(rng=generator)][2],
        r"random.uniform: .*RNG object(.|\n)*rng=generator",
    )
    refused(lambda: (gradiva.random.uniform(),), "random.uniform: .*all samples share")
    refused(lambda: fn.random.uniform(seed=(1 << 63) + 1), "`seed`.*less than 2\\*\\*63")
    refused(lambda: fn.decoders.image(feed(), on_error="skip"), "decoders.image: .*`on_error`")
    refused(lambda: feed() * np.float64(0.1), "mul: .*float32, which would change")
    refused(lambda: feed() + np.array([0.1]), "constant: .*float32, which would change")
    refused(lambda: feed() + np.uint64(1 << 63), "up to 2\\*\\*63")
    refused(lambda: feed() + np.array([1 << 63], np.uint64), "up to 2\\*\\*63")
    refused(
        lambda: fn.rotate(feed(), angle=0.0, fill_value=1e300),
        "rotate: argument `fill_value`: .*float32",
    )
    refused(lambda: fn.external_source(lambda: 3)[..., 0], "subscript: .*rank is known")
    refused(lambda: fn.flip(feed(name="\ud800")), "UTF-8|text cannot be stored")
    refused(lambda: feed("a") + feed("a", repeat_last=True), "two operators called 'a'")
    refused(feed, "`seed`", seed=1 << 63)


def test_user_made_operators_are_refused() -> None:
    from gradiva.eager.operators.operator import operator, operators
    from gradiva.eager.types.sample_type import SampleType

    @operator("tests.mine")
    def mine(input: SampleType, /) -> SampleType:
        return input

    try:
        with pytest.raises(ValueError, match=r"tests.mine: (.|\n)*no place(.|\n)*mine\(feed"):
            pipeline(lambda: mine(feed())).serialize()
    finally:
        del operators["tests.mine"]


@pytest.mark.parametrize(
    "imports", ["import gradiva", pytest.param(EVERYTHING, marks=pytest.mark.full)]
)
def test_importing_gradiva_does_not_load_what_few_need(imports: str) -> None:
    """Protobuf, libraries of codecs and the network, and parts of Python that load many others.
    Not even with all names."""
    few = "google.protobuf numba cv2 PIL asyncio email importlib.metadata ssl tarfile zipfile"
    loaded = "{name for name, module in sys.modules.items() if module is not None}"
    program = f"import sys\n{imports}\nprint(*{loaded} & set({few!r}.split()))"
    run = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)
    assert run.stdout.split() == []


def test_dot_file(tmp_path: Path) -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def drawn() -> Any:
        images = feed()
        return fn.flip(images, horizontal=fn.random.coin_flip(), name='a "name"'), images

    path = tmp_path / "graph.dot"
    drawn().save_graph_to_dot_file(path)
    text = path.read_text()
    assert text.startswith('digraph "drawn" {')
    assert text.endswith("}\n")
    assert text.count("{") == text.count("}") == 1
    assert r'label="flip\na \"name\""' in text
    assert 'op1 -> op2 [style=dashed, label="horizontal"];' in text
    assert text.count("->") == 4
    assert "random_key" not in text
    drawn().save_graph_to_dot_file(path, show_tensors=True, show_ids=True, use_colors=True)
    text = path.read_text()
    assert text.count("->") == 7
    assert text.count("#cfe3f7") == 3
    assert re.search(r't0 \[label="0: .*HWC', text)
    assert "t1 -> op2" in text
    with pytest.raises(ValueError, match="cannot be written"):
        drawn().save_graph_to_dot_file(tmp_path / "no folder" / "x")
