"""Readers of container formats against DALI: which samples, in which order, in which
batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gradiva
from gradiva.eager.operators.operator import OperatorBase
from tests.ops.readers.formats import FORMATS, values

from .reference import dali
from .reference import fn as theirs

BATCH = 3


def batches(library: Any, function: Any, arguments: dict[str, Any], count: int) -> Any:
    """For each batch, for each sample: shapes, dtypes and bytes of the outputs, and its name."""
    pipeline = library.Pipeline(
        batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1
    )
    with pipeline:
        pipeline.set_outputs(*values(function(name="R", **arguments)))
    pipeline.build()
    found = []
    for _ in range(count):
        outputs = pipeline.run()
        found.append(
            [
                [
                    outputs[0][i].source_info(),
                    *(
                        (output.at(i).shape, output.at(i).dtype.str, output.at(i).tobytes())
                        for output in outputs
                    ),
                ]
                for i in range(BATCH)
            ]
        )
    return found


def of_theirs(name: str) -> Any:
    function, ours = theirs, FORMATS[name].function
    assert isinstance(ours, OperatorBase)
    for part in ours.name.split("."):
        function = getattr(function, part)
    return function


@pytest.mark.parametrize("size", range(1, 21))
@pytest.mark.parametrize("name", sorted(name for name, kind in FORMATS.items() if kind.runs))
def test_shards(name: str, size: int, tmp_path: Path) -> None:
    kind = FORMATS[name]
    data = kind.theirs(kind.write(tmp_path, size))
    for shards in range(1, min(size, 4) + 1):
        for pad in (False, True):
            for stick in (False, True):
                arguments: dict[str, Any] = {
                    **data[0],
                    "num_shards": shards,
                    "shard_id": (size + shards) % shards,
                    "pad_last_batch": pad,
                    "stick_to_shard": stick,
                }
                count = -(-size // (BATCH * shards)) * 2 + 1
                expected = batches(dali, of_theirs(name), {**arguments, **data[1]}, count)
                found = batches(gradiva, kind.function, {**arguments, **data[2]}, count)
                if not kind.named:
                    for sample in (one for batch in found for one in batch):
                        assert sample[0]
                        sample[0] = ""
                assert found == expected, (shards, pad, stick)
