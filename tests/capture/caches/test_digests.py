"""One digest of three epochs, whatever the cache does: cold, warm, half warm, full, shared or
killed."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def
from tests.ops.decoders.test_decode_region import encoded, picture

pytestmark = pytest.mark.full

FILES, EPOCHS = 24, 3
PROGRAM = """
import sys
from pathlib import Path
from tests.capture.caches.test_digests import digest
print(digest(Path(sys.argv[1]), cache=sys.argv[2]), flush=True)
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """JPEGs of different sizes, one of them damaged."""
    folder = tmp_path_factory.mktemp("photos")
    (folder / "a").mkdir()
    for number in range(FILES):
        data = bytes(encoded(picture(60 + 3 * number, 100 - 2 * number)))
        (folder / "a" / f"{number:02}.jpg").write_bytes(data[:300] if number == 7 else data)
    return folder


def digest(root: Path, batch_size: int = 4, num_threads: int = 2, **cache: Any) -> str:
    """Of all samples of three epochs, with their labels, in their order."""

    @pipeline_def(batch_size=batch_size, num_threads=num_threads, seed=5, **cache)
    def made() -> Any:
        files, labels = fn.readers.file(file_root=root, random_shuffle=True, name="files")
        images = fn.decoders.image_random_crop(files, on_error="skip")
        images = fn.resize(images, size=(24, 24))
        contrast = fn.random.uniform(range=(0.5, 1.5))
        return fn.flip(
            fn.contrast(images, contrast=contrast), horizontal=fn.random.coin_flip()
        ), labels

    found, left, pipe = sha256(), FILES * EPOCHS, made()
    while left > 0:
        images, labels = pipe.run()
        left -= batch_size
        for sample in range(len(images)):
            found.update(np.array(images.at(sample)).tobytes())
            found.update(np.array(labels.at(sample)).tobytes())
    pipe.close()
    return found.hexdigest()


@pytest.fixture(scope="module")
def wanted(root: Path) -> str:
    return digest(root)


@pytest.mark.filterwarnings("ignore:samples that cannot be read", "ignore:the cache .*")
@pytest.mark.parametrize("where", ["ram", "folder"])
def test_cold_and_warm(root: Path, wanted: str, tmp_path: Path, where: str) -> None:
    where = where if where == "ram" else str(tmp_path)
    for batch_size, num_threads in ((4, 2), (4, 1), (3, 2), (8, 4), (1, 1)):
        given = {"batch_size": batch_size, "num_threads": num_threads}
        assert digest(root, **given) == wanted
        assert digest(root, **given, cache=where) == wanted


@pytest.mark.filterwarnings("ignore:samples that cannot be read", "ignore:the cache .*")
def test_half_of_it(root: Path, wanted: str, tmp_path: Path) -> None:
    """Without some of the shards, with cut and changed ones, and with no room for all."""
    kept = tmp_path / "kept"
    assert digest(root, cache=kept) == wanted
    generator = random.Random(1)
    for turn in range(12):
        copy = tmp_path / str(turn)
        shutil.copytree(kept, copy)
        for path in copy.rglob("*.data"):
            data = bytearray(path.read_bytes())
            for _ in range(generator.randrange(1, 40)):
                data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
            path.write_bytes(data[: generator.randrange(len(data))] if turn % 3 == 0 else data)
        if turn % 4 == 3:
            for path in copy.rglob("*.index"):
                path.write_bytes(path.read_bytes()[: -generator.randrange(1, 100)])
        assert digest(root, cache=copy) == wanted
        assert digest(root, cache=copy) == wanted
    for room in (10_000, 100_000, 300_000):
        assert digest(root, cache=tmp_path / f"room {room}", cache_bytes=room) == wanted


@pytest.mark.filterwarnings("ignore:samples that cannot be read", "ignore:the cache .*")
def test_processes_share_it_and_are_killed(root: Path, wanted: str, tmp_path: Path) -> None:
    kept, generator = tmp_path / "kept", random.Random(2)
    command = [sys.executable, "-c", PROGRAM, str(root), str(kept)]
    pair = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [one.communicate()[0].split()[-1] for one in pair] == [wanted] * 2
    for _ in range(5):
        shutil.rmtree(kept)
        begun = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for _ in range(2000):
            if list(kept.rglob("*.index")) or begun.poll() is not None:
                break
            time.sleep(0.01)
        time.sleep(generator.uniform(0, 0.2))
        begun.send_signal(signal.SIGKILL)
        begun.communicate()
        assert digest(root, cache=kept) == wanted
