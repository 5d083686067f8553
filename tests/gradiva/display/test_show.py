"""`gradiva.show`: pixels of figures, and the errors for what does not fit."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import gradiva
from gradiva.display.colors import color
from gradiva.display.grid import Figure
from gradiva.eager.support.errors import GradivaError

Array = np.ndarray[Any, Any]


def black(count: int = 2, height: int = 20, width: int = 40) -> Any:
    return gradiva.as_batch(np.zeros((count, height, width, 3), np.uint8), layout="HWC")


def first(figure: Figure) -> Array:
    pixels = figure.cells[0].pixels
    assert pixels is not None
    return pixels


def frame(pixels: Array) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what is not black."""
    rows, columns = np.nonzero(pixels.any(axis=-1))
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


@pytest.mark.parametrize(
    "boxes",
    [
        [[[10, 5, 30, 15]], [[0, 0, 1, 1]]],
        [np.array([10, 5, 30, 15]), np.zeros((0, 4))],
        [np.array([[0.25, 0.25, 0.75, 0.75]]), []],
        np.array([[[0.25, 0.25, 0.75, 0.75]]] * 2, np.float32),
        gradiva.batch([np.array([[10, 5, 30, 15]], np.float32)] * 2),
        [gradiva.tensor([[10.0, 5, 30, 15]])] * 2,
    ],
    ids=["lists", "pixels", "relative", "array", "batch", "tensors"],
)
def test_boxes(boxes: Any) -> None:
    pixels = first(gradiva.show(black(), boxes=boxes, size=80))
    assert pixels.shape == (40, 80, 3)
    assert frame(pixels) == (20, 10, 60, 30)
    assert tuple(pixels[10, 20].tolist()) == color(1)
    assert not pixels[20, 40].any()


def test_boxes_outside_and_broken_ones() -> None:
    far = np.array([[-1e9, -5, 1e9, 1000], [np.nan, 0, 1, 1], [30, 15, 10, 5]], np.float32)
    pixels = first(gradiva.show(black(1), boxes=[far], size=80))
    assert frame(pixels) == (
        20,
        10,
        60,
        30,
    )  # of the last one, whose corners are in the wrong order


def test_masks() -> None:
    images = gradiva.as_batch(np.full((1, 20, 40, 3), 100, np.uint8), layout="HWC")
    mask = np.zeros((20, 40), np.int32)
    mask[:, 20:] = 2
    half = (100 + np.array(color(2))) / 2
    for given in ([mask], mask[None], mask[None, ..., None], gradiva.batch([mask])):
        pixels = first(gradiva.show(images, masks=given, size=80))
        assert (pixels[:, :40] == 100).all()
        assert (np.abs(pixels[:, 40:] - half) <= 0.5).all()
    several = np.stack([mask == 0, mask == 2])
    pixels = first(gradiva.show(images, masks=[several], size=80))
    assert (np.abs(pixels[:, :40] - (100 + np.array(color(1))) / 2) <= 0.5).all()
    assert (np.abs(pixels[:, 40:] - half) <= 0.5).all()
    soft = np.where(mask, np.nan, 0.5).astype(np.float32)
    pixels = first(gradiva.show(images, masks=[soft], size=80))
    assert (np.abs(pixels[:, :40] - (75 + np.array(color(1)) / 4)) <= 0.5).all()
    assert (pixels[:, 40:] == 100).all()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["cat", "dog"], ["cat", "dog"]),
        ([3, 4.25], ["3", "4.25"]),
        (np.array([1, 2]), ["1", "2"]),
        (gradiva.batch([[5], [6]]), ["5", "6"]),
        (gradiva.batch([b"cat", b"hippo"]), ["cat", "hippo"]),
        ([["a", "b"], []], ["a, b", ""]),
        ([Path("x/a.png"), b"raw"], ["a.png", "raw"]),
    ],
)
def test_labels(labels: Any, expected: list[str]) -> None:
    figure = gradiva.show(black(), labels=labels)
    assert [cell.caption[0] for cell in figure.cells] == expected
    assert all(text in figure._repr_html_() for text in expected)


def test_labels_of_boxes_stand_at_the_boxes() -> None:
    boxes = [[[4, 4, 16, 18], [22, 2, 38, 18]]] * 2
    plain = gradiva.show(black(), boxes=boxes)
    figure = gradiva.show(black(), boxes=boxes, labels=[["one", "two"], "both"])
    assert [cell.caption[0] for cell in figure.cells] == ["", "both"]
    assert (first(figure) != first(plain)).any()
    assert tuple(first(figure)[18, 18].tolist()) == color(1)
    assert (figure.cells[1].pixels == plain.cells[1].pixels).all()  # type: ignore[union-attr]
    single = gradiva.show(black().tensors[0], boxes=boxes[0], labels=["one", "two"])
    assert (first(single) == first(figure)).all()


@pytest.mark.parametrize(
    "labels",
    [
        [["one"], "below"],
        [np.array([3], np.int32), np.int32(3)],
        gradiva.batch([np.array([3], np.int32)] * 2),
    ],
)
def test_the_label_of_a_single_box_stands_at_the_box(labels: Any) -> None:
    boxes = [[[4, 4, 16, 18]]] * 2
    plain = gradiva.show(black(), boxes=boxes)
    figure = gradiva.show(black(), boxes=boxes, labels=labels)
    changed = [
        (cell.pixels != before.pixels).any()  # type: ignore[union-attr]
        for cell, before in zip(figure.cells, plain.cells, strict=True)
    ]
    below = [cell.caption[0] for cell in figure.cells]
    assert changed == [not caption for caption in below]
    assert changed[0]
    one = gradiva.show(
        black().tensors[0],
        boxes=boxes[0],
        labels=labels[0] if isinstance(labels, list) else labels.tensors[0],
    )
    assert (first(one) == first(figure)).all()
    assert one.cells[0].caption[0] == ""


def test_names_of_files(photographs: Path) -> None:
    files, labels = next(iter(gradiva.readers.File(file_root=str(photographs)).next_epoch(3)))
    figure = gradiva.show(files, labels=labels)
    assert figure.cells[0].caption[:2] == ("0", "chelsea.jpg")
    assert figure.cells[0].caption[2] == "encoded JPEG, 451 x 300"
    assert first(figure).shape == (106, 160, 3)


def test_what_can_be_shown() -> None:
    image = np.full((8, 8, 3), 9, np.uint8)
    planes = image.transpose(2, 0, 1)
    for given in (
        image,
        image[None],
        image[..., 0],
        [image],
        (image,),
        gradiva.tensor(image),
        gradiva.batch([image]),
        gradiva.tensor(planes, layout="CHW"),
        [gradiva.tensor(planes, layout="CHW")],
        [image.tolist()],
        (item for item in [image]),
    ):
        figure = gradiva.show(given)
        assert len(figure.cells) == 1
        assert first(figure).shape == (160, 160, 3)
    with gradiva.EvalMode.deferred:
        assert first(gradiva.show(gradiva.flip(gradiva.as_batch(image[None], layout="HWC")))).any()
    mixed = gradiva.show([image, np.zeros((4, 6), np.float32), np.zeros(500, np.float32)])
    assert [cell.pixels is not None for cell in mixed.cells] == [True] * 3


def test_figure(tmp_path: Path) -> None:
    images = np.zeros((5, 10, 10, 3), np.uint8)
    images[..., 1] = np.arange(5)[:, None, None] * 50
    figure = gradiva.show(gradiva.as_batch(images, layout="HWC"), columns=3, size=20)
    assert repr(figure) == "Figure(5 samples, columns=3; save(path) writes it as PNG)"
    path = tmp_path / "figure.png"
    figure.save(path)
    assert path.read_bytes() == figure._repr_png_()
    pixels = np.asarray(PIL.Image.open(io.BytesIO(figure._repr_png_())))
    assert pixels.shape == (2 * 20 + 3 * 8, 120, 3)
    assert pixels[10, [10, 38, 66], 1].tolist() == [0, 50, 100]
    assert pixels[38, [10, 38], 1].tolist() == [150, 200]
    assert pixels[38, 66].tolist() == [255, 255, 255]
    assert "repeat(3,max-content)" in figure._repr_html_()
    assert figure._repr_html_().count("<img") == 5


@pytest.mark.parametrize("ending", [".jpg", ".JPEG", ".webp", ".png"])
def test_files_of_other_formats(tmp_path: Path, ending: str) -> None:
    figure = gradiva.show(np.full((2, 30, 40, 3), 90, np.uint8), size=40)
    path = tmp_path / f"figure{ending}"
    figure.save(path)
    with PIL.Image.open(path) as written:
        wanted = {".jpg": "JPEG", ".JPEG": "JPEG", ".webp": "WEBP", ".png": "PNG"}[ending]
        assert written.format == wanted
        pixels = np.asarray(written.convert("RGB"), np.int64)
    assert pixels.shape == figure.pixels().shape
    assert abs(pixels - figure.pixels()).mean() < 2


def test_many_and_none(tmp_path: Path) -> None:
    figure = gradiva.show(black(70, 2, 2), size=16)
    assert len(figure.cells) == 64
    assert repr(figure).startswith("Figure(64 of 70 samples")
    assert "... and 6 more" in figure._repr_html_()
    nothing: Any
    for nothing in ([], gradiva.batch([], layout="HWC"), np.zeros((0, 4, 4, 3))):
        empty = gradiva.show(nothing, boxes=[], labels=[], masks=[])
        assert repr(empty).startswith("Figure(0 samples")
        assert "no samples" in empty._repr_html_()
        empty.save(tmp_path / "empty.png")
    assert gradiva.show(np.zeros((0, 4), np.uint8)).cells[0].text == "empty"
    strange = gradiva.show(black(1), labels=["\u6f22\u5b57 <b> " * 40])
    strange.save(tmp_path / "strange.PNG")
    assert "<b>" not in strange._repr_html_()


WAVES = [np.zeros(500, np.float32)] * 2


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: gradiva.show(3.5), TypeError, "a Batch, a Tensor or arrays"),
        (lambda: gradiva.show({"a": 1}), TypeError, "a Batch, a Tensor or arrays"),
        (lambda: gradiva.show(["text", object()]), TypeError, "sample 1"),
        (lambda: gradiva.show((black(), black())), TypeError, r"show\(images, labels=labels\)"),
        (lambda: gradiva.show(black(), columns=0), ValueError, "`columns`: expected 1 to 64"),
        (
            lambda: gradiva.show(black(), size="big"),  # type: ignore[arg-type]
            TypeError,
            "`size`: expected an integer",
        ),
        (lambda: gradiva.show(black(), boxes=[[0, 0, 1, 1]]), ValueError, "the 2 samples, got 1"),
        (lambda: gradiva.show(black(), boxes=5), TypeError, "`boxes`: expected one entry"),
        (
            lambda: gradiva.show(black(), boxes=[np.zeros((1, 4)), np.zeros((1, 5))]),
            ValueError,
            r"shape \(n, 4\).*got \(1, 5\)\n  in sample 1",
        ),
        (lambda: gradiva.show(black(), boxes=["a", "b"]), ValueError, r"\(1,\)\n  in sample 0"),
        (lambda: gradiva.show(black(), boxes=[[[1, 2], [3]]] * 2), TypeError, "sample 0"),
        (lambda: gradiva.show(black(), labels=["a"]), ValueError, "`labels`.*got 1"),
        (lambda: gradiva.show(black(), labels="ab"), TypeError, "`labels`: expected one entry"),
        (lambda: gradiva.show(black(), labels=[{}, {}]), ValueError, "a text, a number"),
        (lambda: gradiva.show(black(), labels=[[["a"]], "b"]), ValueError, "sample 0"),
        (
            lambda: gradiva.show(black(1), [np.zeros((3, 4))], [["a", "b"]]),
            ValueError,
            "one for each of its 3 boxes, got 2",
        ),
        (
            lambda: gradiva.show(black(), masks=[np.zeros((20, 40)), np.zeros((20, 41))]),
            ValueError,
            "20 x 40, got 20 x 41\n  in sample 1",
        ),
        (lambda: gradiva.show(black(1), masks=[np.zeros(5)]), ValueError, r"\(H, W\)"),
        (lambda: gradiva.show(WAVES, boxes=[[0, 0, 1, 1]] * 2), ValueError, "got wave"),
        (lambda: gradiva.show(black()).save("x.txt"), ValueError, "ends in .png, .jpg"),
        (lambda: gradiva.show(black()).save(7), TypeError, "`path`"),  # type: ignore[arg-type]
        (lambda: gradiva.show(black()).save("/no/such/x.png"), RuntimeError, "not written"),
    ],
)
def test_errors(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        call()
    assert isinstance(caught.value, GradivaError)
    assert caught.value.location is not None
    assert caught.value.location.code.co_filename == __file__


def test_symbols_are_refused() -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def pipe() -> Any:
        images = gradiva.fn.external_source(lambda: np.zeros((2, 4, 4, 3), np.uint8))
        gradiva.show(images)
        return images

    with pytest.raises(
        gradiva.OperatorTypeError,
        match=r"show: there are no samples before a pipeline runs.*run\(\)",
    ):
        pipe()


@pytest.mark.full
def test_pillow_is_loaded_by_the_first_picture() -> None:
    script = (
        "import sys, gradiva, numpy as np\n"
        "assert 'PIL' not in sys.modules\n"
        "gradiva.show(np.zeros((4, 4, 3), np.uint8))._repr_png_()\n"
        "assert 'PIL' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])


def test_a_column_of_labels() -> None:
    """Labels of shape (n, 1), as operators on boxes take them."""
    boxes = np.array([[2, 2, 12, 12], [16, 2, 30, 12]], np.float32)
    column = np.array([[1], [2]], np.int32)
    wanted = gradiva.show(black(1), boxes=[boxes], labels=[[1, 2]]).cells[0]
    for labels in ([column], gradiva.as_batch([column])):
        found = gradiva.show(black(1), boxes=[boxes], labels=labels).cells[0]
        assert np.array_equal(found.pixels, wanted.pixels)  # type: ignore[arg-type]
    single = gradiva.show(black(1).tensors[0], boxes=boxes, labels=column).cells[0]
    assert np.array_equal(single.pixels, wanted.pixels)  # type: ignore[arg-type]


def test_the_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"")
    with pytest.warns(UserWarning, match=r"imread\(path\)"):
        gradiva.show(str(path))


def test_targets() -> None:
    """Boxes in any format, their labels, keypoints that are seen, and polygons."""
    targets = gradiva.Targets(
        boxes=np.array([[20, 10, 20, 10]], np.float32),
        format="cxcywh",
        labels=np.array([3], np.int32),
        keypoints=np.array([[[34, 3, 2], [2, 18, 0]]], np.float32),
        polygons=np.array([[0, 0, 3]], np.int32),
        vertices=np.array([[1, 1], [8, 1], [1, 8]], np.float32),
    )
    plain = np.zeros((20, 40, 3), np.uint8)
    pixels = first(gradiva.show(plain, targets, size=40))
    assert (pixels[6:14, 29] == color(1)).all()  # the right edge of the box
    assert pixels[3, 34].any()
    assert not pixels[18, 2].any()
    assert (pixels[1, 2:7] == color(1)).all()
    image, turned = gradiva.flip(plain, targets, horizontal=1)
    assert first(gradiva.show(image, turned, size=40))[3, 5].any()
    batch, several = gradiva.flip(black(), targets)
    assert len(gradiva.show(batch, several).cells) == 2
    with pytest.raises(gradiva.OperatorValueError, match="targets of 3 samples"):
        gradiva.show(black(3), several)


def test_labels_and_masks_that_are_given_replace_those_of_targets() -> None:
    boxes = np.array([[2, 2, 18, 18]], np.float32)
    plain, mask = black(1), np.ones((1, 20, 40), np.uint8)
    targets = gradiva.Targets(boxes=[boxes], labels=[np.array([3], np.int32)], masks=[mask])
    named = gradiva.show(plain, targets, labels=[["cat"]], masks=[0 * mask[0]])
    wanted = gradiva.show(plain, boxes=[boxes], labels=[["cat"]], masks=[0 * mask[0]])
    assert (first(named) == first(wanted)).all()
    assert (first(gradiva.show(plain, targets)) != first(wanted)).any()
