"""`executor_statistics`: how much memory the results of a pipeline's operators have taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn

KEYS = {
    "real_memory_size",
    "max_real_memory_size",
    "reserved_memory_size",
    "max_reserved_memory_size",
}
BATCHES = [
    [(10, 20, 3), (70, 50, 3)],
    [(4, 4, 3), (130, 140, 3)],
    [(2, 2, 3)],
    [(111, 120, 3), (131, 140, 3)],
]


def ragged(**options: Any) -> gradiva.Pipeline:
    """Images of several sizes, flipped, and the flipped ones cast: two outputs."""
    sizes = iter(BATCHES * 100)
    pipe = gradiva.Pipeline(batch_size=2, num_threads=2, **options)
    with pipe:
        images = fn.external_source(
            source=lambda: [np.zeros(shape, np.uint8) for shape in next(sizes)],
            layout="HWC",
            name="images",
        )
        flipped = fn.flip(images, name="flipped")
        pipe.set_outputs(flipped, fn.cast(flipped, dtype=gradiva.float32))
    return pipe


def volume(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


@pytest.mark.parametrize("options", [{"prefetch_queue_depth": 1}, {"exec_async": False}, {}])
def test_the_most_so_far(options: dict[str, Any]) -> None:
    pipe = ragged(enable_memory_stats=True, **options)
    for _ in BATCHES:
        pipe.run()
    pipe.close()
    statistics = pipe._built().plan.program.statistics.as_dict()  # type: ignore[union-attr]
    total = max(sum(map(volume, batch)) for batch in BATCHES)
    largest = max(volume(shape) for batch in BATCHES for shape in batch)
    assert list(statistics) == ["CPU_images", "CPU_flipped", "CPU_cast"]
    for name, itemsize in (("CPU_images", 1), ("CPU_flipped", 1), ("CPU_cast", 4)):
        entry = statistics[name]
        assert set(entry) == KEYS
        assert entry["real_memory_size"] == [total * itemsize]
        assert entry["max_real_memory_size"] == [largest * itemsize]
        (held,), (share,) = entry["reserved_memory_size"], entry["max_reserved_memory_size"]
        assert total * itemsize <= held <= total * itemsize * 1.2
        assert max(largest * itemsize, held // 2) <= share <= held


def test_nothing_without_asking_and_before_the_first_batch() -> None:
    pipe = ragged()
    pipe.run()
    assert pipe.executor_statistics() == {}
    pipe.close()
    pipe = ragged(enable_memory_stats=True, exec_async=False)
    assert pipe.executor_statistics() == {}
    pipe.run()
    assert len(pipe.executor_statistics()) == 3
    pipe.close()


def test_inside_a_fused_group() -> None:
    """The group's output stands under its last operator; what was never in memory is zero."""
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1, enable_memory_stats=True, exec_async=False)
    with pipe:
        images = fn.external_source(
            source=lambda: np.zeros((2, 30, 40, 3), np.uint8), layout="HWC", name="images"
        )
        brighter = fn.brightness(images, brightness=1.5, name="brighter")
        window = fn.crop(brighter, crop=(20, 20), name="window")
        pipe.set_outputs(fn.crop_mirror_normalize(window, crop=(10, 10), name="normal"))
    pipe.run()
    statistics = pipe.executor_statistics()
    pipe.close()
    assert [len(node.members) for node in pipe.graph.nodes] == [0, 5]
    assert set(statistics) == {"CPU_images", "CPU_brighter", "CPU_window", "CPU_normal"}
    assert statistics["CPU_images"]["real_memory_size"] == [2 * 30 * 40 * 3]
    assert statistics["CPU_brighter"] == {key: [0] for key in KEYS}
    assert statistics["CPU_window"] == {key: [0] for key in KEYS}
    assert statistics["CPU_normal"]["real_memory_size"] == [2 * 10 * 10 * 3 * 4]


def test_a_group_that_falls_apart() -> None:
    """Data that the fused kernels do not suit: the operators run one by one, and are counted."""
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1, enable_memory_stats=True, exec_async=False)
    with pipe:
        images = fn.external_source(
            source=lambda: np.zeros((2, 30, 40, 3), np.float16), layout="HWC", name="images"
        )
        pipe.set_outputs(fn.flip(fn.crop(images, crop=(20, 20), name="window"), name="flipped"))
    pipe.run()
    statistics = pipe.executor_statistics()
    pipe.close()
    assert statistics["CPU_window"]["real_memory_size"] == [2 * 20 * 20 * 3 * 2]
    assert statistics["CPU_flipped"]["real_memory_size"] == [2 * 20 * 20 * 3 * 2]


def test_operators_without_names_and_with_several_outputs() -> None:
    pipe = gradiva.Pipeline(batch_size=3, num_threads=1, enable_memory_stats=True, exec_async=False)
    with pipe:
        pair = fn.external_source(
            source=lambda: (np.zeros((3, 5), np.uint8), np.zeros((3, 7), np.float32)), num_outputs=2
        )
        first, second = (fn.cast(one, dtype=gradiva.int64) for one in pair)
        pipe.set_outputs(first, second)
    pipe.run()
    statistics = pipe.executor_statistics()
    pipe.close()
    assert statistics["CPU_external_source"]["real_memory_size"] == [15, 84]
    assert statistics["CPU_external_source"]["max_real_memory_size"] == [5, 28]
    assert statistics["CPU_cast"]["real_memory_size"] == [120]
    assert statistics["CPU_cast_2"]["real_memory_size"] == [168]


def test_names_survive_the_passes() -> None:
    """Also in errors: a named operator inside a group is named by the error of its argument."""
    pipe = gradiva.Pipeline(batch_size=2, num_threads=1)
    with pipe:
        images = fn.external_source(
            source=lambda: np.zeros((2, 30, 40, 3), np.uint8), layout="HWC", name="images"
        )
        pipe.set_outputs(fn.flip(fn.crop(images, crop=(50, 20), name="window"), name="turned"))
    with pytest.raises(gradiva.GradivaError, match=r"crop \(window\)"):
        pipe.run()
    pipe.close()
