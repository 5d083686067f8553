"""A program whose Ray cluster dies while it waits for batches: `python -m` it with a folder and the
name of what dies. It prints what it met."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

import gradiva
from gradiva.plugin.ray import LoaderPool

from .pipelines import NAMES, producer

ray: Any = importlib.import_module("ray")


def main(folder: str, dies: str) -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    pool = LoaderPool(producer(folder, 5), num_loaders=1, timeout=10)
    part = pool.iterator(0, 1, NAMES)
    next(part)
    node: Any = ray._private.worker._global_node
    for started in node.all_processes[dies]:
        started.process.kill()
    print("killed", flush=True)
    began = time.monotonic()
    try:
        while time.monotonic() - began < 600:
            for _ in part:
                pass
    except gradiva.OperatorRuntimeError as error:
        print(f"error: {error}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
