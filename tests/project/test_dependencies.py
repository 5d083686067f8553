"""A range of versions is a promise: what gradiva needs each of its dependencies for is done in the
environments of `.ci/other_pythons.py`, with the oldest versions and with the newest."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import fsspec
import h5py
import numpy as np
import pyarrow
import pytest
import soundfile
from pyarrow import parquet

import gradiva
from gradiva import fn, types
from tests.ops.storage.loopback import loopback

cv2: Any = pytest.importorskip("cv2")

pytestmark = pytest.mark.core

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
IMAGE = (np.arange(12 * 16 * 3) * 7 % 256).astype(np.uint8).reshape(12, 16, 3)


def arrays() -> None:
    assert np.asarray(gradiva.tensor(IMAGE, layout="HWC")).tolist() == IMAGE.tolist()


def kernels() -> None:
    images = gradiva.batch([IMAGE, IMAGE[:5]], layout="HWC")
    assert np.array_equal(gradiva.flip(images).at(1), IMAGE[:5, ::-1])


def jpegs() -> None:
    file = next((Path(gradiva.__file__).parent / "photographs").glob("*/*.jpg"))
    seen, data = cv2.imread(str(file)), np.fromfile(file, np.uint8)
    assert seen is not None
    height, width, _ = seen.shape
    image = gradiva.decoders.image(gradiva.batch([data]))
    assert image.shape == [(height, width, 3)]
    assert float(np.asarray(image.at(0)).std()) > 5


def other_formats() -> None:
    for kind in ("png", "tiff", "bmp", "ppm"):
        _, data = cv2.imencode(f".{kind}", IMAGE[..., ::-1])
        image = gradiva.decoders.image(gradiva.batch([data.reshape(-1)]))
        assert np.array_equal(image.at(0), IMAGE), kind
    _, data = cv2.imencode(".webp", IMAGE[..., ::-1])
    assert gradiva.decoders.image(gradiva.batch([data.reshape(-1)])).shape == [(12, 16, 3)]
    deep = gradiva.resize(gradiva.tensor(IMAGE, layout="HWC"), size=(6, 8), compat="opencv")
    assert np.array_equal(deep, cv2.resize(IMAGE, (8, 6), interpolation=cv2.INTER_LINEAR))


def pictures() -> None:
    image = gradiva.tensor(IMAGE.astype(np.uint16)[..., :1], layout="HWC")
    assert gradiva.resize(image, size=(6, 8), compat="pil").shape == (6, 8, 1)
    assert "<img" in gradiva.tensor(IMAGE, layout="HWC")._repr_html_()


def bars() -> None:
    folder = Path(gradiva.__file__).parent / "photographs"
    reader = gradiva.readers.File(file_root=str(folder))
    counts = [len(labels) for _, labels in reader.next_epoch(batch_size=4, progress=True)]
    assert max(counts) == 4


def files() -> None:
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1)
    with pipe:
        pipe.set_outputs(fn.random.uniform(range=(0.0, 1.0), seed=3))
    again = gradiva.Pipeline.deserialize(pipe.serialize())
    assert np.array_equal(again.run()[0].as_array(), pipe.run()[0].as_array())


def short_floats() -> None:
    made = gradiva.cast(gradiva.tensor(np.array([1.0, 2.5], np.float32)), dtype=gradiva.bfloat16)
    assert np.asarray(made).astype(np.float32).tolist() == [1.0, 2.5]


def sounds() -> None:
    wave = np.sin(np.arange(16000) / 20).astype(np.float32) / 2
    for kind, tolerance in (("WAV", 1e-4), ("FLAC", 1e-4), ("OGG", 0.05), ("MP3", 0.05)):
        file = io.BytesIO()
        soundfile.write(file, wave, 16000, format=kind)
        data = np.frombuffer(file.getvalue(), np.uint8)
        found, rate = gradiva.decoders.audio(gradiva.batch([data]))
        assert np.asarray(rate.at(0)) == 16000
        # Codecs with loss take a while to swing in.
        heard = np.asarray(found.at(0)).reshape(-1)[4000:12000]
        assert np.abs(heard - wave[4000:12000]).max() < tolerance, kind


def columns() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.parquet"
        table = pyarrow.table({"n": [1, 2, 3], "l": [[1.5], [2.5, 3.5], []]})
        parquet.write_table(table, path, row_group_size=2)
        reader = gradiva.readers.Parquet(paths=path, columns=["n", "l"])
        (found,) = reader.next_epoch(batch_size=3)
    assert found[0].as_array().tolist() == [1, 2, 3]
    assert [found[1].at(row).tolist() for row in range(3)] == [[1.5], [2.5, 3.5], []]


def rows() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.h5"
        with h5py.File(path, "w") as file:
            file["images"] = np.stack([IMAGE] * 2)
        (found,) = gradiva.readers.HDF5(paths=path, columns="images").next_epoch(batch_size=2)
    assert np.array_equal(found.at(1), IMAGE)


def urls() -> None:
    fsspec.filesystem("memory").pipe_file("/gradiva/1", b"there")
    reader = gradiva.readers.File(files=["memory://gradiva/1"])
    ((content, _),) = reader.next_epoch(batch_size=1)
    assert content.at(0).tobytes() == b"there"


def web_servers() -> None:
    with loopback() as server:
        server.objects["/1"] = b"there"
        reader = gradiva.readers.File(files=[f"{server.url}/1"])
        ((content, _),) = reader.next_epoch(batch_size=1)
    assert content.at(0).tobytes() == b"there"


def buckets() -> None:
    pytest.importorskip("obstore")
    with loopback() as server, pytest.MonkeyPatch.context() as environment:
        server.objects["/bucket/1"] = b"there"
        environment.setenv("AWS_ENDPOINT_URL", server.url)
        reader = gradiva.readers.File(files=["s3://bucket/1"], storage_options={"anon": True})
        ((content, _),) = reader.next_epoch(batch_size=1)
    assert content.at(0).tobytes() == b"there"


def other_audio() -> None:
    wave, file = np.sin(np.arange(16000, dtype=np.float32) / 20) / 2, io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        track = container.add_stream("aac", rate=16000, layout="mono")
        frame = av.AudioFrame.from_ndarray(wave[None], format="fltp", layout="mono")
        frame.sample_rate = 16000
        for packet in [*track.encode(frame), *track.encode()]:
            container.mux(packet)
    data = np.frombuffer(file.getvalue(), np.uint8)
    found, rate = gradiva.decoders.audio(gradiva.batch([data]))
    assert np.asarray(rate.at(0)) == 16000
    # The encoder shifts what it is given; the tone is the same.
    heard = np.abs(np.fft.rfft(np.asarray(found.at(0)).reshape(-1)[4000:12000]))
    assert heard.argmax() == np.abs(np.fft.rfft(wave[4000:12000])).argmax()


def receipts() -> None:
    xxhash = pytest.importorskip("xxhash")

    @gradiva.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def numbers() -> Any:
        return fn.constant(idata=[1, 2, 3], dtype=types.UINT8)

    made = []
    for _ in range(2):
        pipe = numbers(with_receipt={"hash": "xxh3_128"}, seed=1)
        pipe.run()
        made.append(bytes(pipe.receipt()))
    assert made[0] == made[1]
    assert xxhash.xxh3_128(b"").digest_size == 16


USES: dict[str, Callable[[], Any]] = {
    "numpy": arrays,
    "numba": kernels,
    "simplejpeg": jpegs,
    "opencv-python-headless": other_formats,
    "pillow": pictures,
    "tqdm": bars,
    "protobuf": files,
    "ml_dtypes": short_floats,
    "av": other_audio,
    "soundfile": sounds,
    "h5py": rows,
    "pyarrow": columns,
    "fsspec": urls,
    "aiohttp": web_servers,
    "obstore": buckets,
    "xxhash": receipts,
}


OPTIONAL = (
    *("aiohttp", "av", "fsspec", "h5py", "ml_dtypes", "obstore", "pyarrow", "soundfile"),
    "xxhash",
)


FRAMEWORKS = {"jax", "paddlepaddle", "ray", "tensorflow"}
"""They take a gigabyte and more: what they are for is in tests/gradiva/frameworks and
tests/gradiva/ray_loaders."""


@pytest.mark.parametrize("package", USES)
def test_each_dependency_does_what_it_is_for(package: str) -> None:
    USES[package]()


def test_no_dependency_is_left_out() -> None:
    text = PROJECT.read_text("utf-8")
    gpu = slice(text.index("\ncuda12 = ["), text.index("\nhdf5 = ["))
    listed = text[text.index("\ndependencies = [") : text.index("\ntest = [")].replace(
        text[gpu], ""
    )
    bounds = dict(re.findall(r'"([\w-]+)>=([\d.]+)', listed))
    assert set(bounds) - FRAMEWORKS == set(USES)
    # What is optional has the same bound where it is tested.
    tested = text[text.index("\ntest = [") : text.index("\noracle = [")]
    for package in OPTIONAL:
        assert f'"{package}>={bounds[package]}' in tested
