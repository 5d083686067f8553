"""The transforms as functions of batches: the same bits in all modes, fair draws, clear errors.

None of this needs torch.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance

import gradiva
from gradiva import OperatorTypeError, OperatorValueError, capture, fn, pipeline_def

from .pictures import Array, picture, pixels

tv: Any = gradiva.experimental.torchvision
SEED = 11
SIZE = 4
BICUBIC = tv.InterpolationMode.BICUBIC

STEPS: dict[str, Any] = {
    "resize": tv.Resize(9, BICUBIC, max_size=12),
    "longer": tv.Resize(None, max_size=15),
    "center": tv.CenterCrop((6, 11)),
    "pad": tv.Pad([1, 2], fill=(5, 6, 7)),
    "mirrored": tv.Pad((1, 2, 0, 3), padding_mode="reflect"),
    "crop": tv.RandomCrop((9, 5), padding=1, pad_if_needed=True, fill=(9, 8, 7)),
    "edges": tv.RandomCrop(4, padding=2, padding_mode="edge"),
    "window": tv.RandomResizedCrop((6, 7)),
    "flips": tv.Compose([tv.RandomHorizontalFlip(), tv.RandomVerticalFlip(0.3)]),
    "jitter": tv.ColorJitter(0.4, (0.5, 1.5), 0.3, 0.2),
    "one jitter": tv.ColorJitter(hue=(0.1, 0.1)),
    "gray": tv.Grayscale(3),
    "some gray": tv.RandomGrayscale(0.5),
    "blur": tv.GaussianBlur(3, (0.3, 1.5)),
    "applied": tv.RandomApply([tv.CenterCrop(8), tv.ColorJitter(0.5)], p=0.6),
    "to tensors": tv.Compose([tv.Resize((5, 5)), tv.PILToTensor(), tv.ColorJitter(0.4, 0.4)]),
    "normalized": tv.Compose([tv.ToPureTensor(), tv.Normalize([99.0, 9.0, 5.0], [9.0, 8.0, 7.0])]),
    "and back": tv.Compose([tv.PILToTensor(), tv.Normalize([0.0], [255.0]), tv.ToPILImage()]),
}


def pictures() -> list[Array]:
    shapes = [(9, 12), (7, 5), (12, 9), (4, 4), (9, 12), (6, 8), (8, 4)]
    return [pixels(height + turn, width, 3) for turn in range(3) for height, width in shapes]


def eager(call: Callable[[Any], Any], size: int) -> list[Array]:
    gradiva.random.set_seed(SEED)
    made: list[Array] = []
    for first in range(0, len(pictures()), size):
        part = pictures()[first : first + size]
        with gradiva.step(first, len(part)):
            made += [np.array(one) for one in call(gradiva.batch(part, layout="HWC"))]
    return made


def piped(call: Callable[[Any], Any], size: int) -> list[Array]:
    taken = pictures()

    @pipeline_def(batch_size=size, num_threads=2, seed=SEED)
    def pipeline() -> Any:
        images = fn.external_source(
            source=lambda info: taken[info.idx_in_epoch], batch=False, layout="HWC"
        )
        return call(images)

    made: list[Array] = []
    pipe = pipeline()
    while len(made) < len(taken):
        made += [np.array(one) for one in pipe.run()[0]]
    pipe.close()
    return made


def same(one: list[Array], other: list[Array]) -> None:
    assert len(one) == len(other)
    for sample, (left, right) in enumerate(zip(one, other, strict=True)):
        np.testing.assert_array_equal(left, right, f"sample {sample}")


@pytest.mark.full
@pytest.mark.parametrize("name", STEPS)
def test_same_bits_in_all_modes(name: str) -> None:
    call = STEPS[name]
    whole = eager(call, len(pictures()))
    same(whole, eager(call, SIZE))
    same(whole, eager(capture.compile(call), SIZE))
    same(whole, piped(call, 7))


@pytest.mark.full
@pytest.mark.parametrize("name", STEPS)
def test_a_compose_has_the_bits_of_the_calls(name: str) -> None:
    """Of its transforms one after another on a batch, with the same seed."""
    if name in ("to tensors", "normalized"):
        pytest.importorskip("torch")
    call = STEPS[name]
    images = pictures()[:5]
    compose = tv.Compose([call], seed=SEED)
    first = compose([Image.fromarray(one) for one in images])
    again = compose([Image.fromarray(one) for one in images])
    gradiva.random.set_seed(SEED)
    with gradiva.step(0, 5):
        expected = [np.array(one) for one in call(gradiva.batch(images, layout="HWC"))]
    same([np.asarray(one) for one in first], expected)
    assert len(again) == 5
    fresh = tv.Compose([call], seed=SEED)([Image.fromarray(one) for one in images])
    same([np.asarray(one) for one in fresh], expected)


@pytest.mark.full
def test_captured_loop() -> None:
    call = tv.Compose([tv.Resize(20), tv.RandomCrop(16), tv.ColorJitter(0.4, 0.4)])
    photographs = Path(gradiva.__file__).parent / "photographs"

    def run(captured: bool) -> list[Array]:
        gradiva.random.set_seed(SEED)
        reader = gradiva.readers.File(file_root=str(photographs))
        made: list[Array] = []
        for files, _ in reader.next_epoch(batch_size=3, capture=captured):
            made += [np.array(one) for one in call(gradiva.decoders.image(files))]
        return made

    same(run(False), run(True))


@pytest.mark.full
def test_empty_batches() -> None:
    empty = gradiva.batch(pictures()[:1], layout="HWC").select([])
    for call in STEPS.values():
        assert len(call(empty)) == 0


@pytest.mark.full
def test_gray_and_colored_images_in_one_batch() -> None:
    """The number of channels is not known before the graph runs."""
    images = [pixels(5, 6, 3), pixels(5, 6, 1), pixels(4, 4, 3)]
    batch = gradiva.batch(images, layout="HWC")
    for call, channels in (
        (tv.Grayscale(1), (1, 1, 1)),
        (tv.Grayscale(3), (3, 3, 3)),
        (tv.ColorJitter(0.2, 0.2, (0.5, 0.5), (0.2, 0.2)), (3, 1, 3)),
        (tv.RandomApply([tv.Grayscale(1)], p=1.0), (1, 1, 1)),
    ):
        assert tuple(one.shape[2] for one in call(batch)) == channels


def test_pillow_itself() -> None:
    """Without torch: what torchvision calls for images of Pillow."""
    image = picture(30, 40)
    run = tv.Compose([tv.Resize((12, 17))])
    np.testing.assert_array_equal(run(image), image.resize((17, 12), Image.Resampling.BILINEAR))
    run = tv.Compose([tv.Grayscale(), tv.RandomHorizontalFlip(1.0)])
    expected = image.convert("L").transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    assert run(image).mode == "L"
    np.testing.assert_array_equal(run(image), expected)
    clear = picture(9, 11, "RGBA")
    run = tv.Compose([tv.ColorJitter(contrast=(1.3, 1.3))])
    np.testing.assert_array_equal(run(clear), ImageEnhance.Contrast(clear).enhance(1.3))
    assert tv.Compose([])(image).tobytes() == image.tobytes()


def test_the_order_of_a_jitter_is_drawn() -> None:
    factors = {"Brightness": 1.5, "Contrast": 0.6, "Color": 1.7}
    image = picture(8, 9)
    made = {}
    for order in permutations(factors):
        one = image
        for name in order:
            one = getattr(ImageEnhance, name)(one).enhance(factors[name])
        made[one.tobytes()] = order
    jitter = tv.ColorJitter((1.5, 1.5), (0.6, 0.6), (1.7, 1.7))
    run = tv.Compose([jitter], batch_size=600, seed=5)
    counts = Counter(made[one.tobytes()] for one in run([image] * 600))
    assert len(counts) == 6
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 20.5  # chi-square, 0.1 %


def test_places_are_drawn_evenly() -> None:
    array = np.arange(12, dtype=np.uint8).reshape(3, 4, 1)
    gradiva.random.set_seed(3)
    made = tv.RandomCrop((2, 2))(gradiva.batch([array] * 600, layout="HWC"))
    counts = Counter(int(one[0, 0, 0]) for one in made.as_array())
    assert set(counts) == {0, 1, 2, 4, 5, 6}
    assert sum((count - 100) ** 2 / 100 for count in counts.values()) < 20.5


@pytest.mark.parametrize(
    "make",
    [
        lambda: tv.Resize("224"),
        lambda: tv.Resize((1, 2, 3)),
        lambda: tv.Resize(0),
        lambda: tv.Resize(None),
        lambda: tv.Resize(8, max_size=8),
        lambda: tv.Resize((8, 9), max_size=20),
        lambda: tv.Resize(8, interpolation="zork"),
        lambda: tv.Resize(8, interpolation=9),
        lambda: tv.CenterCrop((4, 4, 4)),
        lambda: tv.RandomCrop((4, 0)),
        lambda: tv.RandomCrop(4, padding=(1, 2, 3)),
        lambda: tv.RandomCrop(4, padding=-1),
        lambda: tv.RandomCrop(4, padding_mode="zork"),
        lambda: tv.RandomCrop(4, fill=()),
        lambda: tv.Pad(1, padding_mode="wrap"),
        lambda: tv.Pad(1, device="tpu"),
        lambda: tv.RandomResizedCrop(4, scale=(0.5, 0.1)),
        lambda: tv.RandomResizedCrop(4, ratio=(0.0, 1.0)),
        lambda: tv.RandomHorizontalFlip(1.5),
        lambda: tv.RandomVerticalFlip("0.5"),
        lambda: tv.RandomGrayscale(None),
        lambda: tv.RandomApply([], p=-0.1),
        lambda: tv.ColorJitter(-0.1),
        lambda: tv.ColorJitter(contrast=(1.0, 0.5)),
        lambda: tv.ColorJitter(hue=0.6),
        lambda: tv.ColorJitter(hue=(-0.6, 0.1)),
        lambda: tv.Grayscale(2),
        lambda: tv.GaussianBlur(4),
        lambda: tv.GaussianBlur((3, 4)),
        lambda: tv.GaussianBlur(3, sigma=0.0),
        lambda: tv.GaussianBlur(3, sigma=(2.0, 1.0)),
        lambda: tv.Normalize([0.5], [0.0]),
    ],
)
def test_wrong_values(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="argument `"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: tv.CenterCrop("4"),
        lambda: tv.RandomCrop(4, pad_if_needed=1),
        lambda: tv.RandomCrop(4, fill="black"),
        lambda: tv.Pad("1"),
        lambda: tv.Pad((1, 2, 3)),
        lambda: tv.RandomResizedCrop(4, scale=0.5),
        lambda: tv.ColorJitter("0.5"),
        lambda: tv.ColorJitter((0.1, 0.2, 0.3)),
        lambda: tv.GaussianBlur("3"),
        lambda: tv.GaussianBlur(3, sigma="1"),
        lambda: tv.Normalize(0.5, [1.0]),
        lambda: tv.Normalize([0.5], "1"),
        lambda: tv.RandomApply(tv.Pad(1)),
        lambda: tv.Compose(tv.Pad(1)),
        lambda: tv.Compose([tv.Pad]),
        lambda: tv.Compose([lambda image: image]),
        lambda: tv.Compose([], zork=3),
    ],
)
def test_wrong_types(make: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="argument `"):
        make()


def test_what_is_not_available() -> None:
    for name in ("BOX", "HAMMING", "NEAREST_EXACT"):
        with pytest.raises(NotImplementedError, match=name):
            tv.Resize(4, tv.InterpolationMode[name])
    with pytest.raises(NotImplementedError, match="inplace"):
        tv.Normalize([1.0], [1.0], inplace=True)
    with pytest.raises(RuntimeError, match=r"Compose\(\[transform\]\)"):
        tv.Resize(4)(picture(8, 8))
    with pytest.raises(OperatorTypeError, match="layout 'FHWC'"):
        tv.Resize(4)(gradiva.batch([np.zeros((2, 4, 4, 3), np.uint8)], layout="FHWC"))
    with pytest.raises(OperatorValueError, match="leaves the sample"):
        tv.Compose([tv.RandomCrop(9)])(picture(8, 8))
    with pytest.raises(OperatorValueError, match="num_output_channels"):
        tv.Compose([tv.RandomGrayscale(1.0)])(picture(8, 8, "RGBA"))
    with pytest.raises(OperatorValueError, match="`batch_size`: expected at least 3"):
        tv.Compose([tv.Resize(4)], batch_size=2)([picture(8, 8)] * 3)


def test_nothing_to_change() -> None:
    image = picture(8, 9)
    for call in (tv.ColorJitter(), tv.ColorJitter(None), tv.RandomApply([], p=1.0)):
        assert tv.Compose([call])(image).tobytes() == image.tobytes()


def test_fills_by_type() -> None:
    image = picture(2, 2, "L")
    assert np.asarray(tv.Compose([tv.Pad(1, fill={Image.Image: 7, "others": 9})])(image))[0, 0] == 7
    assert np.asarray(tv.Compose([tv.Pad(1, fill={"others": 9})])(image))[0, 0] == 9
    planes = gradiva.batch([np.zeros((1, 2, 2), np.uint8)], layout="CHW")
    assert tv.Pad(1, fill={Image.Image: 7, "others": 9})(planes).at(0)[0, 0, 0] == 7


def test_a_compose_is_stored_without_its_pipelines() -> None:
    compose = tv.Compose([tv.RandomCrop(4), tv.ColorJitter(0.4)], seed=3)
    image = picture(8, 9)
    first = compose(image)
    again = pickle.loads(pickle.dumps(compose))
    assert again(image).tobytes() == first.tobytes()
    assert repr(again) == repr(compose)


@pytest.mark.full
def test_nothing_is_loaded_before_it_is_used() -> None:
    program = (
        "import sys, gradiva.experimental as e\n"
        "before = 'gradiva.compat.dali.experimental.torchvision' in sys.modules\n"
        "from gradiva.experimental.torchvision import functional\n"
        "from gradiva.experimental.torchvision.v2 import functional as other\n"
        "import gradiva.experimental.torchvision.functional as third\n"
        "print(before, 'torch' in sys.modules, functional is other is third is"
        " e.torchvision.functional)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == ["False", "False", "True"]


@pytest.mark.full
def test_a_script_for_dali(tmp_path: Path) -> None:
    """Its imports are served, and what torch is needed for says so where there is none."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from PIL import Image\n"
        "import nvidia.dali.experimental.torchvision.v2.functional as F\n"
        "from nvidia.dali.experimental import torchvision as tv\n"
        "from nvidia.dali.experimental.torchvision import Compose, Resize\n"
        "image = Image.new('RGB', (8, 6))\n"
        "run = Compose([Resize((3, 4))], batch_size=2, num_threads=1, device_id=None)\n"
        "print(run(image).size, F.get_size(image))\n"
        "for call in (F.pil_to_tensor, Compose([tv.PILToTensor()])):\n"
        "    try:\n"
        "        call(image)\n"
        "    except ImportError as error:\n"
        "        print('pip install torch' in str(error))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "gradiva", "run", str(script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(gradiva.__file__).parents[1],
    )
    assert done.stdout.splitlines() == ["(4, 3) [6, 8]", "True", "True"]
