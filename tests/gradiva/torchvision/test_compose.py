"""`Compose` with images of Pillow and tensors, against that of torchvision."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import OperatorValueError

from .pictures import CHANNELS, SIZES, assert_same, picture, planes

tv: Any = gradiva.experimental.torchvision
torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torchvision.transforms.v2")

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
# What is drawn is certain here, so both draw the same.
PAIRS: list[tuple[Any, Any]] = [
    (tv.Resize(20), theirs.Resize(20)),
    (tv.Resize((9, 14), 3), theirs.Resize((9, 14), 3)),
    (tv.Resize(8, max_size=12), theirs.Resize(8, max_size=12)),
    (tv.CenterCrop((8, 21)), theirs.CenterCrop((8, 21))),
    (tv.Pad([2, 1], 7), theirs.Pad([2, 1], 7)),
    (tv.Pad(3, padding_mode="edge"), theirs.Pad(3, padding_mode="edge")),
    (tv.RandomCrop((1, 1), padding=0), theirs.CenterCrop(1)),
    (tv.RandomHorizontalFlip(1.0), theirs.RandomHorizontalFlip(1.0)),
    (tv.RandomVerticalFlip(1.0), theirs.RandomVerticalFlip(1.0)),
    (tv.RandomHorizontalFlip(0.0), theirs.RandomHorizontalFlip(0.0)),
    (tv.RandomApply([tv.Pad(1)], 1.0), theirs.RandomApply([theirs.Pad(1)], 1.0)),
    (tv.RandomApply([tv.Pad(1)], 0.0), theirs.RandomApply([theirs.Pad(1)], 0.0)),
]
COLORED: list[tuple[Any, Any]] = [
    (tv.ColorJitter(brightness=(1.3, 1.3)), theirs.ColorJitter(brightness=(1.3, 1.3))),
    (tv.ColorJitter(contrast=(0.6, 0.6)), theirs.ColorJitter(contrast=(0.6, 0.6))),
    (tv.ColorJitter(saturation=(1.7, 1.7)), theirs.ColorJitter(saturation=(1.7, 1.7))),
    (tv.ColorJitter(hue=(0.2, 0.2)), theirs.ColorJitter(hue=(0.2, 0.2))),
    (tv.ColorJitter(hue=(-0.5, -0.5)), theirs.ColorJitter(hue=(-0.5, -0.5))),
    (tv.Grayscale(), theirs.Grayscale()),
    (tv.Grayscale(3), theirs.Grayscale(3)),
]


@pytest.mark.full
@pytest.mark.parametrize(("mine", "other"), PAIRS)
def test_same_bits(mine: Any, other: Any) -> None:
    run = tv.Compose([mine])
    for size in SIZES:
        if isinstance(mine, tv.RandomCrop) and size != (1, 1):
            continue
        for mode in CHANNELS:
            assert_same(
                run(picture(size[0], size[1], mode)), other(picture(size[0], size[1], mode))
            )
        for channels, lead in ((1, ()), (3, (2,)), (4, ()), (3, (2, 2))):
            tensor = planes(torch, lead, channels, size, np.uint8)
            assert_same(run(tensor), other(tensor).contiguous())


@pytest.mark.full
@pytest.mark.parametrize(("mine", "other"), COLORED)
def test_same_colors(mine: Any, other: Any) -> None:
    run = tv.Compose([mine])
    for size in SIZES:
        for mode in CHANNELS:
            assert_same(
                run(picture(size[0], size[1], mode)), other(picture(size[0], size[1], mode))
            )
        for channels, lead in ((1, ()), (3, (2,)), (3, ())):
            tensor = planes(torch, lead, channels, size, np.uint8)
            assert_same(run(tensor), other(tensor).contiguous())


@pytest.mark.full
def test_the_presets_of_models() -> None:
    """Images of Pillow become tensors, which get the arithmetic of tensors from there on."""
    for mine, other in (
        (
            [tv.Resize(24), tv.CenterCrop(16), tv.PILToTensor()],
            [theirs.Resize(24), theirs.CenterCrop(16), theirs.PILToTensor()],
        ),
        (
            [tv.PILToTensor(), tv.Resize(24, 3), tv.CenterCrop(16)],
            [theirs.PILToTensor(), theirs.Resize(24, 3), theirs.CenterCrop(16)],
        ),
        (
            [tv.ToPureTensor(), tv.Grayscale(3), tv.ToPILImage()],
            [theirs.PILToTensor(), theirs.Grayscale(3), theirs.ToPILImage()],
        ),
    ):
        run, expected = tv.Compose(mine), theirs.Compose(other)
        for size in ((13, 17), (30, 9), (33, 44)):
            assert_same(run(picture(*size)), expected(picture(*size)))
    run = tv.Compose([tv.PILToTensor(), tv.Normalize([255 * m for m in MEAN], [9.0, 8.0, 7.0])])
    expected = theirs.Compose(
        [
            theirs.PILToTensor(),
            theirs.ToDtype(torch.float32),
            theirs.Normalize([255 * m for m in MEAN], [9.0, 8.0, 7.0]),
        ]
    )
    assert_same(run(picture(13, 17)), expected(picture(13, 17)))
    tensor = planes(torch, (2,), 3, (13, 17), np.float32)
    assert_same(tv.Compose([tv.Normalize(MEAN, STD)])(tensor), theirs.Normalize(MEAN, STD)(tensor))


def test_kinds_of_results() -> None:
    floats = planes(torch, (), 3, (5, 6), np.float32)
    run = tv.Compose([tv.ToPILImage()])
    assert_same(run(floats), theirs.functional.to_pil_image(floats))
    batch = planes(torch, (2,), 3, (5, 6), np.uint8)
    for mine, one in zip(run(batch), batch, strict=True):
        assert_same(mine, theirs.functional.to_pil_image(one))
    mine = tv.Compose([tv.Resize((4, 4))])([picture(5, 6), picture(7, 5, "RGB")])
    assert [one.size for one in mine] == [(4, 4), (4, 4)]
    tensors = tv.Compose([tv.PILToTensor()])([picture(5, 6), picture(7, 5)])
    assert [tuple(one.shape) for one in tensors] == [(3, 5, 6), (3, 7, 5)]
    assert tv.Compose([tv.Resize((4, 4))])(torch.zeros(0, 3, 5, 6)).shape == (0, 3, 4, 4)
    kinds = pytest.importorskip("torchvision.tv_tensors")
    wrapped = kinds.Image(batch[0])
    assert type(tv.Compose([tv.Pad(1)])(wrapped)) is kinds.Image
    assert type(tv.Compose([tv.Pad(1), tv.ToPureTensor()])(wrapped)) is torch.Tensor
    ragged = tv.Compose([tv.RandomApply([tv.Pad(1)])], batch_size=32)
    with pytest.raises(OperatorValueError, match="different shapes"):
        ragged(batch[:1].expand(32, -1, -1, -1))


def test_kinds_of_images_take_turns() -> None:
    run = tv.Compose([tv.RandomHorizontalFlip(1.0), tv.Grayscale(3)])
    for _ in range(2):
        for image in (picture(4, 5), picture(4, 5, "L"), planes(torch, (), 3, (4, 5), np.float32)):
            mine = run(image)
            expected = theirs.functional.to_grayscale(theirs.functional.horizontal_flip(image), 3)
            assert_same(mine, expected)


def test_kinds_of_images_draw_other_numbers() -> None:
    run = tv.Compose([tv.RandomCrop(2)], seed=4)
    one = run([picture(60, 60)] * 4)
    other = run([picture(60, 60).convert("RGBA")] * 4)
    assert any(a.tobytes() != b.convert("RGB").tobytes() for a, b in zip(one, other, strict=True))


def test_torchvisions_own_transforms_are_refused() -> None:
    with pytest.raises(TypeError, match=r"gradiva\.convert\.torchvision"):
        tv.Compose([theirs.Resize(4)])


@pytest.mark.full
def test_threads_share_one() -> None:
    run = tv.Compose([tv.Resize((4, 4))])
    images = [picture(5 + number, 6) for number in range(8)]
    expected = [run(image).tobytes() for image in images]
    made: dict[int, list[bytes]] = {}

    def work(number: int) -> None:
        made[number] = [run(images[number]).tobytes() for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(made[number] == [expected[number]] * 20 for number in range(8))


class _Pictures:
    def __init__(self, **options: Any) -> None:
        self.run = tv.Compose([tv.RandomCrop(4), tv.PILToTensor()], **options)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, item: int) -> Any:
        return self.run(picture(40, 40))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("options", [{}, {"seed": 3}])
def test_workers_of_a_loader(options: dict[str, Any]) -> None:
    """Each draws numbers of its own, the same again for the same seed of torch."""

    def epoch() -> list[bytes]:
        torch.manual_seed(5)
        pictures = _Pictures(**options)
        loader = torch.utils.data.DataLoader(pictures, batch_size=None, num_workers=2)
        return [one.numpy().tobytes() for one in loader]

    first = epoch()
    assert len(set(first)) == 8
    assert first == epoch()


def test_symbols_of_a_pipeline() -> None:
    """A Compose in a pipeline definition makes no pipeline of its own."""
    run = tv.Compose([tv.Resize((4, 5)), tv.Grayscale()])

    @gradiva.pipeline_def(batch_size=2, num_threads=1)
    def pipeline() -> Any:
        images = gradiva.fn.external_source(name="x", layout="HWC")
        return run(images)

    image = picture(9, 8)
    (mine,) = pipeline().run(x=np.asarray(image)[None])
    np.testing.assert_array_equal(mine.at(0)[..., 0], run(image))
