"""A real JupyterLab in a real browser, as a new user meets it. Screenshots of what is looked at
here are kept in $GRADIVA_SCREENSHOTS, if that is set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gradiva.lab import ROOT, Lab, Notebook, lab, notebook_file

pytestmark = pytest.mark.full

CELLS = {
    "files": """import gradiva, numpy as np
from pathlib import Path
from gradiva import fn, pipeline_def
root = str(Path(gradiva.__file__).parent / "photographs")
reader = gradiva.readers.File(file_root=root)
for files, labels in reader.next_epoch(batch_size=7, progress=True):
    pass
files""",
    "labels": "labels",
    "images": "images = gradiva.resize(gradiva.decoders.image(files), size=(64, 128))\nimages",
    "planes": """gradiva.crop_mirror_normalize(
    images, crop=(64, 64), mean=[124.0, 116.0, 104.0], std=[58.0, 57.0, 57.0]
)""",
    "many": "gradiva.as_batch(np.zeros((20, 32, 32, 3), np.uint8), layout='HWC')",
    "mask": "gradiva.tensor((np.indices((64, 64)).sum(0) // 40).astype(np.uint8), layout='HW')",
    "frames": "gradiva.batch([np.zeros((12, 64, 64, 3), np.float32)], layout='FHWC')",
    "sound": "gradiva.tensor(np.sin(np.arange(16000) / 50), layout='t')",
    "numbers": "gradiva.transforms.rotation(angle=30.0, batch_size=2)",
    "show": "gradiva.show(images, labels=labels, boxes=[[8.0, 8.0, 40.0, 40.0]] * 7)",
    "pipeline": """@pipeline_def(batch_size=2, num_threads=2)
def training():
    data, numbers = fn.readers.file(file_root=root)
    pictures = fn.decoders.image(data)
    return fn.crop(pictures, crop=(9000, 9000)), numbers

pipe = training()
pipe""",
    "graph": "pipe.graph",
    "misspelled": "gradiva.resize(images, siz=(10, 10))",
    "nothing": "gradiva.flip()",
    "helper": """def augment(pictures):
    return gradiva.crop(pictures, crop=(900, 900))

augment(images)""",
    "run": "pipe.run()",
    "later": """with gradiva.EvalMode.deferred:
    cropped = gradiva.crop(images, crop=(900, 900))

cropped.shape""",
    "callback": "gradiva.python_function(images, function=lambda image: 1 / 0)",
}
NUMBER = {name: number for number, name in enumerate(CELLS)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lab")
    notebook_file(folder / "first.ipynb", list(CELLS.values()))
    with lab(folder) as running:
        yield running


@pytest.fixture(scope="module")
def notebook(server: Lab) -> Iterator[Notebook]:
    with server.open("first.ipynb") as opened:
        opened.run_all()
        yield opened


@pytest.mark.parametrize(
    ("name", "count", "size"),
    [
        ("images", 7, (128, 64)),
        ("planes", 7, (128, 128)),
        ("many", 16, (128, 128)),
        ("mask", 1, (128, 128)),
        ("frames", 1, (6 * 64 + 5 * 2, 64)),
        ("sound", 1, (192, 64)),
        ("show", 7, (128, 64)),
    ],
)
def test_thumbnails(notebook: Notebook, name: str, count: int, size: tuple[int, int]) -> None:
    notebook.screenshot_at(NUMBER[name], f"thumbnails_{name}")
    assert notebook.sizes(NUMBER[name]) == [size] * count


def test_text_under_thumbnails(notebook: Notebook) -> None:
    files = notebook.text(NUMBER["files"])
    assert "encoded JPEG, 451 x 300" in files
    assert len(notebook.sizes(NUMBER["files"])) == 7
    images = notebook.text(NUMBER["images"])
    for part in (
        "7 samples, shape=(64, 128, 3), dtype=uint8, layout='HWC', device='cpu'",
        "chelsea.jpg",
    ):
        assert part in images
    assert "scaled from" in notebook.text(NUMBER["planes"])
    assert "... and 4 more" in notebook.text(NUMBER["many"])
    assert "mask: 0, 1, 2, 3" in notebook.text(NUMBER["mask"])
    assert "frames 0, 2, 4, 7, 9, 11 of 12" in notebook.text(NUMBER["frames"])
    assert "[[ 0.866, -0.5  ,  0.   ]," in notebook.text(NUMBER["numbers"]).splitlines()
    assert "values=[[0], [1], [2], [2], [3], [3], [4]]" in notebook.text(NUMBER["labels"])


def test_the_progress_bar(notebook: Notebook) -> None:
    text = notebook.text(NUMBER["files"])
    assert "readers.file: 100%" in text.replace("\xa0", " ")
    assert "1/1" in text
    assert "Warning" not in text


@pytest.mark.parametrize("name", ["pipeline", "graph"])
def test_graphs_are_pictures(notebook: Notebook, name: str) -> None:
    notebook.screenshot_at(NUMBER[name], f"picture_of_{name}")
    picture = notebook.output(NUMBER[name]).locator(".jp-RenderedSVG img, .jp-RenderedSVG svg")
    box = picture.bounding_box()
    assert 150 < box["width"] < 1000
    assert box["height"] > 250


@pytest.mark.parametrize(
    ("name", "line", "message", "most"),
    [
        ("misspelled", "gradiva.resize(images, siz=(10, 10))", "did you mean `size`?", 4),
        ("nothing", "gradiva.flip()", "flip: expected 1 input, got 0", 4),
        ("helper", "    return gradiva.crop(pictures, crop=(900, 900))", "in sample 0, file", 9),
        ("run", "    return fn.crop(pictures, crop=(9000, 9000)), numbers", "in sample 0", 10),
        ("later", "    cropped = gradiva.crop(images, crop=(900, 900))", "in sample 0", 9),
        ("callback", "gradiva.python_function(images, ", "raised ZeroDivisionError", 9),
    ],
)
def test_errors(notebook: Notebook, name: str, line: str, message: str, most: int) -> None:
    """The user's line is on top, and there is not much below it."""
    number = NUMBER[name]
    notebook.screenshot_at(number, f"error_{name}")
    lines = notebook.text(number).splitlines()
    marked = [text for text in lines if text.startswith("----> ")]
    assert lines[0].startswith("Cell In[")
    assert marked[0].partition(" ")[2].lstrip("0123456789 ").startswith(line.lstrip())
    assert lines.index(marked[0]) <= 3
    assert message in "\n".join(lines)
    assert len(lines) <= most
    assert "site-packages" not in "\n".join(lines)


def test_completion_and_help(notebook: Notebook) -> None:
    page = notebook.page
    notebook.type_below("gradiva.resize(images, resize_")
    page.keyboard.press("Tab")
    page.locator(".jp-Completer-item", has_text="resize_shorter=").wait_for()
    notebook.screenshot("completion")
    offered = page.locator(".jp-Completer").inner_text()
    for name in ("resize_longer=", "resize_x=", "resize_y=", "resize_z="):
        assert name in offered
    page.keyboard.press("Escape")
    notebook.type_below("fn.crop_mirror_normalize(")
    page.keyboard.press("Shift+Tab")
    page.locator(".jp-Tooltip").wait_for()
    notebook.screenshot("help")
    shown = page.locator(".jp-Tooltip").text_content()
    for part in ("input: Batch", "crop: ", "mean: ", "mirror: IntArg = 0"):
        assert part in shown
    assert "kwargs" not in shown


@pytest.mark.parametrize("name", ["01_dynamic_mode", "02_function_to_pipeline"])
def test_tutorials(server: Lab, name: str) -> None:
    """A tutorial, as a notebook in the browser: no cell fails, and there are pictures."""
    jupytext = pytest.importorskip("jupytext", reason="jupytext is not installed")
    source = ROOT / "tutorials" / f"{name}.py"
    if not source.exists():
        pytest.skip(f"there is no tutorial {name} yet")
    whole = jupytext.read(source)
    whole.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    jupytext.write(whole, server.folder / f"{name}.ipynb")
    with server.open(f"{name}.ipynb", height=1500) as opened:
        opened.run_all()
        outputs = opened.page.locator(".jp-NotebookPanel .jp-OutputArea-output")
        assert outputs.locator("img").count() >= 4
        failed = opened.page.locator("[data-mime-type='application/vnd.jupyter.error']")
        on_purpose = str(whole).count("raises-exception")
        assert failed.count() == on_purpose, failed.all_inner_texts()
        shown = [number for number in range(opened.count()) if opened.sizes(number)]
        for turn, number in enumerate(shown):
            opened.screenshot_at(number, f"tutorial_{name[:2]}_{turn}")
