"""The same recipe from a disk and from a server on this machine that answers after 50 ms.

Both sides are ours. "far / near": every epoch has a reader of its own, so nothing is left of the
one before; what is timed is the epoch, without the making of the reader. "steady": one reader, an
epoch after the others, as in a training; the first one is left out. Fewer bytes may wait in memory
than an epoch has, so each epoch is fetched anew.

The server is a process on the same cores. Its seconds of CPU for an epoch stand in each row, and
no figure is corrected by them, unless `--server-beside-near` is given: then a process burns as
much CPU during the runs from the disk, in even slices. Beside them stand the seconds of CPU that
this process took, from the server and from the disk: other load changes these less than speeds.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import statistics
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
from gradiva.ops.readers.records.tar_archive import index_lines as archive_lines
from gradiva.ops.readers.records.tfrecord import index_lines as tfrecord_lines
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


def steady(make: Callable[[str], Any], place: str, given: Any) -> Callable[[], float]:
    """Images per second of one reader, which goes on with the next epoch at each call."""
    reader: list[Any] = []
    once = epoch(lambda _: reader[0], place, given)

    def run() -> float:
        if not reader:
            reader.append(make(place))
        return once()

    return run


class Watched:
    """A run, and this process's seconds of CPU for each."""

    def __init__(self, run: Callable[[], float]) -> None:
        self._run = run
        self.spent: list[float] = []

    def __call__(self) -> float:
        before = time.process_time()
        result = self._run()
        self.spent.append(time.process_time() - before)
        return result


class Server:
    """The server, and what it costs. spent: seconds of CPU, for each run that was watched."""

    def __init__(self, folder: str, latency: float, script: str = "slow_server.py") -> None:
        path = Path(__file__).with_name(script)
        command = [sys.executable, str(path), folder, str(latency)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.spent: list[float] = []

    def cpu(self) -> float:
        """Seconds until now."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("HEAD", "/cpu")
        found = int(connection.getresponse().getheader("Content-Length") or 0) / 1e6
        connection.close()
        return found

    def watched(self, run: Callable[[], float]) -> Callable[[], float]:
        """A run from the server, whose seconds are noted."""

        def watch() -> float:
            before = self.cpu()
            result = run()
            self.spent.append(self.cpu() - before)
            return result

        return watch

    def beside(self, run: Callable[[], float], images: int) -> Callable[[], float]:
        """A run from the disk, while a process burns what the server took in the last one."""

        def burn() -> float:
            seconds = images / self.speed if self.speed else 1.0
            command = [sys.executable, "-c", BURNER, str(self.spent[-1]), str(seconds)]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                self.speed = run()
                process.kill()
            return self.speed

        self.speed = 0.0
        return burn


BURNER = """
import sys, time
burn, last = float(sys.argv[1]), float(sys.argv[2])
print(flush=True)
begin = time.perf_counter()
while time.process_time() < burn:
    done = time.process_time() / burn
    time.sleep(max(0.0, done * last - (time.perf_counter() - begin)))
    until = time.process_time() + 0.002
    while time.process_time() < until:
        pass
"""


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
    parser.add_argument("--steady-read-ahead", type=int, default=24 << 20)
    parser.add_argument("--server-beside-near", action="store_true", help="see above")
    given = parser.parse_args()
    gradiva.set_num_threads(given.threads)
    given.steps = given.steps or given.read
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), given.images)
        server = Server(folder, given.latency)
        try:
            far = f"http://127.0.0.1:{server.port}"
            options = {"random_shuffle": not given.in_order, "seed": 1}
            kinds = (("far / near", epoch, given.read_ahead),)
            kinds += (("far / near, steady", steady, given.steady_read_ahead),)
            for name, (kind, measure, ahead) in itertools.product(given.formats, kinds):
                made = readers(given.images, {**options, "read_ahead_bytes": ahead})[name]
                here, there = (
                    Watched(measure(made, folder, given)),
                    Watched(measure(made, far, given)),
                )
                server.spent.clear()
                near: Callable[[], float] = here
                if given.server_beside_near:
                    near = server.beside(here, given.images)
                remote = server.watched(there)
                remote(), near()
                figures = in_turns(remote, near, given.rounds)
                rows.append(row(f"{name}, {kind}", *figures, "images/s", bigger=True))
                costs = (("server", server), ("far", there), ("near", here))
                rows[-1] |= {
                    f"{what}_cpu_s": round(statistics.median(one.spent[1:]), 3)
                    for what, one in costs
                }
                print(
                    "  " + ", ".join(f"{what} {rows[-1][f'{what}_cpu_s']} s" for what, _ in costs)
                )
        finally:
            server.process.terminate()
            server.process.wait()
    save("storage", rows, latency_s=given.latency, server_beside_near=given.server_beside_near)


if __name__ == "__main__":
    main()
