"""Converted functions in all modes: the same bits, random steps included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn

from .files import files_of_all_kinds

T: Any = pytest.importorskip("torchvision.transforms")
v2: Any = pytest.importorskip("torchvision.transforms.v2")

pytestmark = [pytest.mark.full, pytest.mark.core, pytest.mark.filterwarnings("ignore")]

NORMALIZED = [T.ToTensor(), T.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])]
JITTER = T.ColorJitter(0.4, 0.4, 0.4, 0.1)
TRANSFORMS = {
    "training": [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), *NORMALIZED],
    "colors": [
        T.Resize(40),
        T.RandomApply([JITTER], 0.8),
        T.RandomGrayscale(0.2),
        T.RandomChoice([T.GaussianBlur(3), T.RandomSolarize(100, 1.0), T.RandomEqualize(1.0)]),
        T.CenterCrop(32),
        *NORMALIZED,
        T.RandomErasing(),
    ],
    "warps": [
        v2.RandomOrder([v2.RandomRotation(20), v2.RandomPerspective(), v2.Pad(3)]),
        v2.RandomAffine(10, (0.1, 0.2), (0.8, 1.2), (0, 3, 2, 5)),
        v2.RandomCrop(48, pad_if_needed=True),
    ],
    "policies": [T.RandAugment(), v2.AutoAugment(), T.TrivialAugmentWide(), T.Resize((30, 30))],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    (made / "a").mkdir()
    for name, file in files_of_all_kinds().items():
        (made / "a" / name).write_bytes(file)
    return made


def loop(function: Any, folder: Path, **options: Any) -> list[Any]:
    reader = gradiva.readers.File(file_root=str(folder))
    gradiva.random.set_seed(5)
    made: list[Any] = []
    for files, _ in reader.next_epoch(batch_size=3, **options):
        made.extend(np.array(one) for one in function(files).tensors)
    return made


@pytest.mark.parametrize("name", TRANSFORMS)
def test_modes(name: str, folder: Path) -> None:
    function = gradiva.convert.torchvision(TRANSFORMS[name], decode=True)
    assert function.random
    plain = loop(function, folder)
    scope: dict[str, Any] = {}
    exec(function.code(), scope)
    others = [
        loop(function, folder, capture=True),
        loop(gradiva.capture.compile(function), folder),
        loop(scope["transform"], folder),
    ]

    @gradiva.pipeline_def(batch_size=4, num_threads=2, seed=5)
    def pipeline() -> Any:
        files, _ = fn.readers.file(file_root=str(folder))
        return function(files)

    pipe = pipeline()
    others.append([np.array(one) for _ in range(2) for one in pipe.run()[0]])
    pipe.close()
    for made in others:
        assert len(made) == len(plain) == 8
        for mine, theirs in zip(made, plain, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_batches_without_samples(name: str) -> None:
    function = gradiva.convert.torchvision(TRANSFORMS[name])
    none = gradiva.batch([np.zeros((9, 9, 3), np.uint8)], layout="HWC").select([])
    assert len(function(none)) == 0
