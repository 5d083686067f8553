"""What is wrong with the cluster is an error, in time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva.ops.readers.core.source import EpochPart
from gradiva.plugin.ray import LoaderPool, cluster, transport
from gradiva.plugin.ray.batch_fetcher import BatchFetcher
from gradiva.plugin.ray.loaded_batch import Column, LoadedBatch

from .pipelines import producer, write


def test_ray_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("gradiva.plugin.ray.loader_pool.check_cluster", cluster.check_cluster)
    monkeypatch.setattr(
        cluster, "ray", gradiva.eager.support.lazy_import.lazy_module("ray", "'gradiva[ray]'")
    )
    with pytest.raises(ImportError, match=r"pip install 'gradiva\[ray\]'"):
        LoaderPool(producer("nowhere"))


def test_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ray", SimpleNamespace(is_initialized=lambda: False))
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"call ray\.init\(\)"):
        LoaderPool(producer("nowhere"))


def test_what_another_process_raised() -> None:
    """Of a long text of Ray's: its beginning, and the cause."""
    errors = pytest.importorskip("ray.exceptions")
    said = "The actor died.\n  At least one\nTraceback (most recent call last):\n  ^^\nKeyError: 3"
    wanted = r"x: RayError: The actor died\. KeyError: 3$"
    with pytest.raises(gradiva.OperatorRuntimeError, match=wanted), cluster.cluster_errors("x"):
        raise errors.RayError(said)
    assert cluster.summary(errors.RayError("gone\nmore")) == "gone"


class Store:
    """The part of Ray that a transport calls. The store is full for the second batch."""

    def __init__(self, errors: Any) -> None:
        self.errors = errors

    def wait(self, refs: list[Any], num_returns: int, timeout: float) -> tuple[Any, Any]:
        return refs[:num_returns], refs[num_returns:]

    def get(self, ref: tuple[int, EpochPart]) -> LoadedBatch:
        part = ref[1]
        if part.start == 2:
            raise self.errors.ObjectStoreFullError("there is no room for 9 GB")
        return LoadedBatch((Column(np.arange(part.start, part.stop), None, ""),))


def test_the_object_store_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs one batch, whose error says so."""
    errors = pytest.importorskip("ray.exceptions")
    monkeypatch.setattr(transport, "ray", Store(errors))
    numbers = iter(range(99))
    loader = SimpleNamespace(
        make=SimpleNamespace(remote=lambda part, digest, reader: (next(numbers), part))
    )
    parts = iter([EpochPart(0, first, first + 2) for first in (0, 2, 4)])
    fetcher = BatchFetcher(transport.RayTransport({0: loader}, ""), parts, 3)
    assert next(fetcher).samples == 2
    with pytest.raises(gradiva.OperatorRuntimeError, match=r"ObjectStoreFullError: .*no room"):
        next(fetcher).batches()
    assert next(fetcher).batches()[0].as_array().tolist() == [4, 5]


@pytest.mark.full
@pytest.mark.alone  # it kills processes, and waits for others to see it
@pytest.mark.parametrize(("dies", "said"), [("raylet", "raylet"), ("gcs_server", "GCS")])
def test_the_machine_of_the_trainer_is_lost(tmp_path: Path, dies: str, said: str) -> None:
    """Its Ray, or the head of the cluster: an error of ours, or Ray ends the process and says why;
    no trainer waits for ever."""
    pytest.importorskip("ray")
    command = [sys.executable, "-m", f"{__package__}.head_dies", write(tmp_path), dies]
    soon = {**os.environ, "RAY_gcs_rpc_server_reconnect_timeout_s": "5"}
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=400, check=False, env=soon
    )
    assert "killed\n" in run.stdout, run
    found = run.stdout.partition("killed\n")[2] + run.stderr
    assert "error: LoaderIterator: " in found or (run.returncode != 0 and said in found), run
