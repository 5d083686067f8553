"""What is shared between the threads that run one program: plans of groups, reports, statistics."""

from __future__ import annotations

import numpy as np

import gradiva
from gradiva import fn, pipeline_def
from gradiva.capture.graph.builtin_ops import fused
from gradiva.capture.runtime.memory_statistics import MemoryStatistics
from gradiva.capture.runtime.program import Program
from gradiva.eager.runtime.worker_pool import WorkerPool
from tests.hammer import THREADS, hammer

TIMES = 12


def test_one_program_runs_in_several_threads() -> None:
    @pipeline_def(batch_size=2, num_threads=1)
    def pipeline():  # type: ignore[no-untyped-def]
        images = fn.external_source(name="images", layout="HWC", dtype=gradiva.uint8, ndim=3)
        values = fn.resize(images, size=(6, 5))
        return fn.crop_mirror_normalize(values, mean=[1.0, 2.0, 3.0], std=[4.0, 5.0, 6.0])

    pipe = pipeline()
    pipe.build()
    program = Program(pipe._built().plan.graph)
    (source,) = pipe._built().plan.sources
    groups = [node for node in program.graph.nodes if node.operator is fused]
    assert groups
    program.statistics = MemoryStatistics(program.graph)
    generator = np.random.default_rng(0)
    batches = [
        gradiva.batch(generator.integers(0, 255, (2, 7 + k, 9, 3), np.uint8), layout="HWC")
        for k in range(3)
    ]
    pool = WorkerPool(1)

    def run(k: int) -> np.ndarray:
        places = {None: np.arange(2)}
        (made,) = program.run({(source, 0): batches[k]}, 2, places, 0, pool)
        return np.array(made.as_array())

    expected = [run(k) for k in range(3)]
    (before,) = program.fusion.groups()

    def work(number: int) -> bool:
        return all(
            np.array_equal(run((number + k) % 3), expected[(number + k) % 3]) for k in range(TIMES)
        )

    assert all(hammer(work))
    (after,) = program.fusion.groups()
    assert after.batches - before.batches == THREADS * TIMES
    assert after.fused == after.batches
    sizes = program.statistics.as_dict()
    assert max(one["real_memory_size"][0] for one in sizes.values()) == 2 * 6 * 5 * 3 * 4
