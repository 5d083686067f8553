"""Promise: what servers and the cache on disk do wrong costs time, or samples that are named; never
wrong bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

import gradiva
from gradiva.eager.execution.quarantine import Quarantine
from gradiva.ops.storage import transport
from tests.ops.storage.loopback import Loopback, loopback
from tests.soaking import Figures, scaled

pytestmark = pytest.mark.filterwarnings("ignore:samples that cannot be read")

FILES = 24


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setattr(transport, "_FIRST_PAUSE", 0.0)
    with loopback() as here:
        yield here


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["http", "s3"])
def test_faults(
    scheme: str, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    monkeypatch.setenv("GRADIVA_STORAGE_CACHE", str(tmp_path / "kept"))
    folder, place = "", server.url
    if scheme == "s3":
        pytest.importorskip("obstore")
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("AWS_NO_SIGN_REQUEST", "1")
        folder, place = "/bucket", "s3:/"
    drawn = random.Random(6)
    contents = [drawn.randbytes(3000 + number) for number in range(FILES)]
    left_out = faults = blocks = 0
    for turn in range(scaled(3)):
        names = [f"{folder}/{turn}/{number}.bin" for number in range(FILES)]
        urls = [place + name for name in names]
        server.objects = dict(zip(names, contents, strict=True))
        gone = drawn.sample(range(FILES), turn % 3)
        server.always = {names[number]: "404" for number in gone}
        for _ in range(2):
            server.faults.clear()
            server.faults.extend(drawn.choices(("ok", "503", "cut", "429"), (6, 1, 1, 1), k=60))
            faults += sum(fault != "ok" for fault in server.faults)
            reader = gradiva.readers.File(files=urls, random_shuffle=True, on_error="skip")
            seen = 0
            with Quarantine() as bad:
                for files, labels in reader.next_epoch(batch_size=5):
                    for sample, label in zip(files.arrays(), labels.arrays(), strict=True):
                        assert sample.tobytes() == contents[int(label[0])]
                        seen += 1
            assert seen == FILES - len(bad)
            assert {one.file for one in bad} <= {*urls}
            left_out += len(bad)
            for path in (tmp_path / "kept").rglob("*"):
                if path.parent.name == "unfinished":  # what is there may be moved any time
                    continue
                if path.is_file() and drawn.random() < 0.3:
                    data = bytearray(path.read_bytes() or b"x")
                    data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
                    path.write_bytes(data[: drawn.choice((None, 9, 0))])
                    blocks += 1
    assert left_out <= faults
    figures(epochs=2 * scaled(3), faults=faults, damaged_blocks=blocks, left_out=left_out)
