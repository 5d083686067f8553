"""Receipts on their way through a DataLoader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva import fn, pipeline_def
from gradiva.receipts import Receipt, Reproducer

torch: Any = pytest.importorskip("torch")


@pipeline_def(batch_size=2, num_threads=1, seed=5)
def train(root: str, shard_id: int = 0, num_shards: int = 1) -> Any:
    arrays = fn.readers.numpy(
        file_root=root, random_shuffle=True, shard_id=shard_id, num_shards=num_shards, name="arrays"
    )
    return arrays + fn.random.uniform(range=[0.0, 1.0])


class Function:
    """What worker processes call."""

    def __init__(self, root: str) -> None:
        self.root = root

    def __call__(self, shard_id: int, num_shards: int, **options: Any) -> Any:
        return train(self.root, shard_id, num_shards, with_receipt=True, **options)


@pytest.mark.parametrize("workers", [0, pytest.param(2, marks=pytest.mark.full)])
def test_receipts_of_a_data_set(tmp_path: Path, workers: int) -> None:
    from gradiva.plugin.pytorch import IterableDataset

    for number in range(7):
        np.save(tmp_path / f"{number}.npy", np.full((3,), number, np.float32))
    data = IterableDataset(Function(str(tmp_path)), ["x", "@receipt"], num_workers=workers)
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
    again, seen = Reproducer(train(str(tmp_path))), 0
    for batch in loader:
        receipt = batch["@receipt"]
        assert isinstance(receipt, Receipt)
        found = again.reproduce(receipt.line())
        assert found.reproduced, found
        assert found.outputs is not None
        assert found.outputs[0].as_array().tolist() == batch["x"].tolist()
        seen += len(batch["x"])
    assert seen == 7
