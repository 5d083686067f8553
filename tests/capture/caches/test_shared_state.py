"""What several threads count that look samples up in one cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gradiva import fn, pipeline_def
from gradiva.capture.caches.cached_samples import Runner
from gradiva.capture.compiler.caches import recipes_of
from tests.hammer import THREADS, hammer

TIMES = 100


def runner_over(root: Path) -> Runner:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline():  # type: ignore[no-untyped-def]
        arrays = fn.readers.numpy(file_root=root, file_filter="*.npy")
        return fn.cache(fn.brightness(arrays, brightness=0.5), where=str(root / "kept"))

    pipe = pipeline()
    pipe.build()
    (recipe,) = recipes_of(pipe._built().plan.graph)
    found = recipe.runner
    assert isinstance(found, Runner)
    return found


def test_samples_are_counted_exactly(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.ones((2, 3, 3), np.float32))
    runner = runner_over(tmp_path)

    def work(number: int) -> None:
        for k in range(TIMES):
            runner._count(2, 20)
            if k % 10 == 0:
                assert not runner.known([[f"{number} {k}", "shared", None]]).any()

    hammer(work)
    assert runner._samples == 2 * THREADS * TIMES
    assert runner.sample_bytes == 10
    assert len(runner._asked) == THREADS * TIMES // 10 + 1
