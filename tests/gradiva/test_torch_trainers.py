"""Lightning and Accelerate save the place of a loader with their checkpoints, and go on there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gradiva.plugin.pytorch import DataLoader  # noqa: E402

from .torch_training import digest, trainers  # noqa: E402

pytestmark = [
    pytest.mark.full,
    pytest.mark.filterwarnings("ignore"),  # of the trainers, about their surroundings
]


def expected_epochs() -> list[list[str]]:
    (loader,) = trainers(1, 0)
    return [[digest([batch]) for batch in loader] for _ in range(2)]


@pytest.mark.parametrize("workers", [0, 2])
def test_lightning(workers: int, tmp_path: Path) -> None:
    """Stopped in the middle of the second epoch, and resumed with another number of workers."""
    lightning = pytest.importorskip("lightning")

    class Model(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.seen: list[str] = []

        def training_step(self, batch: Any, index: int) -> Any:
            self.seen.append(digest([batch]))
            return self.layer(batch["noise"].reshape(-1, 4)).mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    def fit(loader: DataLoader, steps: int, start: Path | None) -> tuple[Any, Model]:
        model = Model()
        trainer = lightning.Trainer(
            max_steps=steps,
            accelerator="cpu",
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        trainer.fit(model, loader, ckpt_path=None if start is None else str(start))
        return trainer, model

    whole = [step for epoch in expected_epochs() for step in epoch]
    trainer, model = fit(trainers(1, workers)[0], 7, None)
    assert model.seen == whole[:7]
    saved = tmp_path / "last.ckpt"
    trainer.save_checkpoint(saved)
    _, model = fit(trainers(1, 2 - workers)[0], 10, saved)
    assert model.seen == whole[7:10]


@pytest.mark.parametrize("workers", [0, 2])
def test_accelerate(workers: int, tmp_path: Path) -> None:
    """Written by one process, read by three."""
    accelerate = pytest.importorskip("accelerate")
    expected = expected_epochs()
    (loader,) = trainers(1, workers)
    accelerator = accelerate.Accelerator(cpu=True)
    accelerator.register_for_checkpointing(loader)
    loop = iter(loader)
    found = [digest([next(loop)]) for _ in range(2)]
    accelerator.save_state(str(tmp_path))
    loaders = trainers(3, 2 - workers)
    for one in loaders:
        accelerator = accelerate.Accelerator(cpu=True)
        accelerator.register_for_checkpointing(one if workers else one.dataset)
        accelerator.load_state(str(tmp_path))
    assert found + [digest(parts) for parts in zip(*loaders, strict=True)] == expected[0]


def test_prepared_by_accelerate() -> None:
    """Of one process, a loader may be prepared, too."""
    accelerate = pytest.importorskip("accelerate")
    (loader,) = trainers(1, 0)
    prepared = accelerate.Accelerator(cpu=True).prepare(loader)
    assert [digest([batch]) for batch in prepared] == expected_epochs()[0]
