"""Samples that leave the batch inside a branch leave all values, in all branches."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def, types
from tests.eager.execution.damaged import damage

COUNT = 12


@pytest.fixture
def files(tmp_path: Path, photographs: Path) -> list[str]:
    """Twelve images; numbers 2, 3, 8 and 9 are damaged."""
    from PIL import Image

    paths = []
    for number in range(COUNT):
        path = tmp_path / f"{number:02}.png"
        Image.fromarray(np.full((4, 5, 3), number * 10, np.uint8)).save(path)
        if number in (2, 3, 8, 9):
            damage(path, "text")
        paths.append(str(path))
    return paths


@pipeline_def(batch_size=6, num_threads=2, seed=5, enable_conditionals=True)
def branching(files: list[str]) -> Any:
    data, labels = fn.readers.file(files=files, labels=list(range(COUNT)))
    noise = fn.random.uniform(range=(0.0, 1.0))
    even = labels[0] % 2 == 0
    if even:
        images = fn.decoders.image(data, on_error="skip")
        seen = fn.cast(images[0, 0, 0], dtype=types.INT32)
        drawn = fn.random.uniform(range=(5.0, 6.0))
        if labels[0] > 5:
            seen = seen + 1000
    else:
        seen = -labels[0]
        drawn = fn.random.uniform(range=(7.0, 8.0))
    return labels[0], seen, noise, drawn


@pytest.mark.parametrize("threads", [1, 3])
def test_skipping_in_a_branch(files: list[str], threads: int) -> None:
    """The odd samples are not decoded, so only damaged even ones leave."""
    pipe = branching(files, num_threads=threads)
    with pytest.warns(UserWarning, match="left out or replaced"):
        pipe.run()
    pipe = branching(files, num_threads=threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [[np.asarray(out).tolist() for out in pipe.run()] for _ in range(2)]
    labels = [label for batch in found for label in batch[0]]
    assert labels == [0, 1, 3, 4, 5, 6, 7, 9, 10, 11]
    seen = dict(zip(labels, [value for batch in found for value in batch[1]], strict=True))
    for label, value in seen.items():
        expected = -label if label % 2 else label * 10 + (1000 if label > 5 else 0)
        assert value == expected
    whole = {label: values for batch in found for label, *values in zip(*batch, strict=True)}
    assert all(5 <= values[2] < 6 for label, values in whole.items() if label % 2 == 0)
    assert all(7 <= values[2] < 8 for label, values in whole.items() if label % 2)
    assert sorted(Path(str(entry.file)).name for entry in pipe.quarantine) == ["02.png", "08.png"]
    # The random values are those that the samples have when none leaves.
    untouched = branching([files[0]] * COUNT)
    for _ in range(2):
        for label, _seen, noise, drawn in zip(*map(np.asarray, untouched.run()), strict=True):
            if int(label) in whole:
                assert whole[int(label)][1:] == [noise, drawn]
