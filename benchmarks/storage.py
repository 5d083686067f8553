"""The same recipe from a disk and from a server on this machine that answers after 50 ms.

Both sides are ours. Every epoch has a reader of its own, so nothing is left of the one before; what
is timed is the epoch, without the making of the reader. The server takes part of the same cores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from photographs import encoded_photographs
from programs import val
from side_by_side import in_turns, row, save

import gradiva
from gradiva import tfrecord as tfr
from gradiva import types
from gradiva.ops.readers.tfrecord.tfrecord import index_lines as tfrecord_lines
from gradiva.ops.readers.webdataset.archive import index_lines as archive_lines
from tests.ops.readers.formats import example, feature, write_tar

SHARDS = 4


def record(data: bytes) -> bytes:
    """A record of a TFRecord file, without checksums."""
    message = example({"image": feature([data])})
    return len(message).to_bytes(8, "little") + bytes(4) + message + bytes(4)


def write(folder: Path, images: int) -> None:
    """Files, TFRecord files and archives of the same photographs."""
    files = [*encoded_photographs(images)]
    for number, data in enumerate(files):
        (folder / f"{number:05}.jpg").write_bytes(data)
    for shard in range(SHARDS):
        part = files[shard::SHARDS]
        path = folder / f"data{shard}.tfrecord"
        path.write_bytes(b"".join(map(record, part)))
        path.with_suffix(".idx").write_text("\n".join(tfrecord_lines(str(path))))
        tar = folder / f"data{shard}.tar"
        write_tar(tar, [(f"{number:05}.jpg", data) for number, data in enumerate(part)])
        (folder / f"data{shard}.index").write_text("\n".join(archive_lines(str(tar))))


def readers(images: int, options: dict[str, Any]) -> dict[str, Callable[[str], Any]]:
    """What makes a reader of a place, by the name of its format, and how its images are got."""
    shards = range(SHARDS)
    features = {"image": tfr.FixedLenFeature([], tfr.string, "")}
    return {
        "tfrecord": lambda place: gradiva.readers.TFRecord(
            path=[f"{place}/data{shard}.tfrecord" for shard in shards],
            index_path=[f"{place}/data{shard}.idx" for shard in shards],
            features=features,
            **options,
        ),
        "webdataset": lambda place: gradiva.readers.Webdataset(
            paths=[f"{place}/data{shard}.tar" for shard in shards],
            index_paths=[f"{place}/data{shard}.index" for shard in shards],
            ext=["jpg"],
            **options,
        ),
        "file": lambda place: gradiva.readers.File(
            files=[f"{place}/{number:05}.jpg" for number in range(images)], **options
        ),
    }


def encoded(outputs: Any) -> Any:
    if isinstance(outputs, dict):
        return outputs["image"]
    return outputs[0] if isinstance(outputs, tuple) else outputs


def epoch(make: Callable[[str], Any], place: str, given: Any) -> Callable[[], float]:
    """Images per second."""

    def run() -> float:
        reader = make(place)
        started, seen = time.perf_counter(), 0
        for outputs in reader.next_epoch(batch_size=given.batch_size, capture=not given.steps):
            batch = encoded(outputs)
            seen += len(batch) if given.read else val(gradiva, types, batch).evaluate().batch_size
        assert seen == given.images
        return seen / (time.perf_counter() - started)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--formats", nargs="*", default=["tfrecord", "webdataset", "file"])
    parser.add_argument("--read", action="store_true", help="no recipe, reading alone")
    parser.add_argument("--steps", action="store_true", help="step by step, no captured loop")
    parser.add_argument("--in-order", action="store_true", help="not shuffled")
    parser.add_argument("--read-ahead", type=int, default=64 << 20)
    given = parser.parse_args()
    gradiva.set_num_threads(given.threads)
    given.steps = given.steps or given.read
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), given.images)
        script = Path(__file__).with_name("slow_server.py")
        command = [sys.executable, str(script), folder, str(given.latency)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            far = f"http://127.0.0.1:{int(server.stdout.readline())}"
            options = {
                "random_shuffle": not given.in_order,
                "read_ahead_bytes": given.read_ahead,
                "seed": 1,
            }
            made = readers(given.images, options)
            for name in given.formats:
                near, remote = epoch(made[name], folder, given), epoch(made[name], far, given)
                near(), remote()
                figures = in_turns(remote, near, given.rounds)
                rows.append(row(f"{name}, far / near", *figures, "images/s", bigger=True))
            server.terminate()
    save("storage", rows, latency_s=given.latency)


if __name__ == "__main__":
    main()
