"""The recipe "val" from a bucket, against a disk and against s3fs behind the same reader.

The server answers after 50 ms: `slow_server.py`, which answers GET and HEAD as S3 does and takes
little CPU time, or with `--moto` moto (`s3_server.py`), which speaks all of S3 and takes more of
these cores than the recipe. "bucket / disk": one reader, one epoch after the other, as in a
training; the first one is left out. Fewer bytes may wait in memory than an epoch has, so each epoch
is fetched again. "obstore / s3fs": the same, where `storage_options` with a name of s3fs's own make
fsspec read the bucket.

The server is a process on the same cores. Its seconds of CPU for an epoch stand in each row. With
`--server-beside-disk` a process burns as much CPU during the runs from the disk, in even slices.
Beside them stand the seconds of CPU of this process for both sides. obstore and s3fs have to be
installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from side_by_side import in_turns, row, save, versions
from storage import Server, Watched, readers, steady, write

import gradiva

S3FS = {"use_listings_cache": False}
"""Options that obstore does not have."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--formats", nargs="*", default=["tfrecord", "webdataset", "file"])
    parser.add_argument("--read-ahead", type=int, default=64 << 20)
    parser.add_argument("--in-order", action="store_true", help="not shuffled")
    parser.add_argument("--moto", action="store_true", help="the server is moto's")
    parser.add_argument("--server-beside-disk", action="store_true", help="see above")
    given = parser.parse_args()
    given.read = given.steps = False
    gradiva.set_num_threads(given.threads)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        bucket = Path(folder) / "bucket"
        bucket.mkdir()
        write(bucket, given.images)
        script = "s3_server.py" if given.moto else "slow_server.py"
        server = Server(folder, given.latency, script)
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        options = {"random_shuffle": not given.in_order, "seed": 1}
        options["read_ahead_bytes"] = given.read_ahead
        try:
            for name in given.formats:
                made = readers(given.images, options)[name]
                by_s3fs = readers(given.images, {**options, "storage_options": S3FS})[name]
                disk = Watched(steady(made, str(bucket), given))
                far = Watched(steady(made, "s3://bucket", given))
                other = Watched(steady(by_s3fs, "s3://bucket", given))
                near: Callable[[], float] = disk
                if given.server_beside_disk:
                    near = server.beside(disk, given.images)
                pairs = (("bucket / disk", disk, near), ("obstore / s3fs", other, other))
                for pair, watched, rival in pairs:
                    server.spent.clear()
                    far.spent.clear()
                    ours = server.watched(far)
                    ours(), rival()
                    figures = in_turns(ours, rival, given.rounds)
                    rows.append(row(f"{name}, {pair}, steady", *figures, "images/s", bigger=True))
                    costs = (("server", server), ("ours", far), ("theirs", watched))
                    rows[-1] |= {
                        f"{what}_cpu_s": round(statistics.median(one.spent[1:]), 3)
                        for what, one in costs
                    }
                    print("  ", {what: rows[-1][f"{what}_cpu_s"] for what, _ in costs})
        finally:
            server.process.terminate()
            server.process.wait()
    save(
        "object_store",
        rows,
        latency_s=given.latency,
        server="moto" if given.moto else "slow_server.py",
        server_beside_disk=given.server_beside_disk,
        clients=versions("obstore", "s3fs", "moto"),
    )


if __name__ == "__main__":
    main()
