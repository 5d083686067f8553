"""Scripts that import `nvidia.dali`, run by `gradiva run` as they stand.

With `-m oracle` DALI runs the same scripts, and both print the same.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gradiva import compat

FOLDER = Path(__file__).parent / "unmodified"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
PRINTED = {
    "classic_pipeline": """\
epoch 5
(3, 3, 32, 32) [0, 0, 1] [0. 1. 2.]
(3, 3, 32, 32) [1, 1, 0] [0. 1. 2.]
""",
    "functional_pipeline": """\
True 5
[(24, 20, 3), (24, 20, 3)] [[0], [0]]
[(24, 20, 3), (24, 20, 3)] [[1], [1]]
[(24, 20, 3), (24, 20, 3)] [[1], [1]]
""",
    "parallel_source": """\
True
[0, 1, 4, 9] False
[16, 25, 36, 49] False
""",
    "torch_training": """\
0 0 (4, 3, 16, 16) [0, 0, 1, 1] True
0 1 (1, 3, 16, 16) [1] True
1 0 (4, 3, 16, 16) [0, 0, 1, 1] True
1 1 (1, 3, 16, 16) [1] True
""",
    "torch_workers": "[[0, 10], [20, 30]]\n",
}
TORCH = importlib.util.find_spec("torch") is not None


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five small images in two folders."""
    top = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(5)
    for label, count in (("cats", 2), ("dogs", 3)):
        (top / label).mkdir()
        for number in range(count):
            picture = generator.integers(0, 256, (30 + number, 44, 3), dtype=np.uint8)
            Image.fromarray(picture).save(top / label / f"{number}.png")
    return top


def run(name: str, pictures: Path, *before: str) -> subprocess.CompletedProcess[str]:
    if name.startswith("torch") and not TORCH:
        pytest.skip("torch is not installed")
    command = [sys.executable, *before, str(FOLDER / f"{name}.py"), str(pictures)]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=300)


def test_all_are_run() -> None:
    assert {*PRINTED, "with_a_mistake"} == set(SCRIPTS)


@pytest.mark.full
@pytest.mark.parametrize("name", PRINTED)
def test_unmodified(name: str, pictures: Path) -> None:
    done = run(name, pictures, "-m", "gradiva", "run")
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED[name], "", 0)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PRINTED)
def test_the_reference_prints_the_same(name: str, pictures: Path) -> None:
    if importlib.util.find_spec("nvidia.dali") is None:
        pytest.skip("the reference is not installed")
    done = run(name, pictures)
    assert (done.stdout, done.returncode) == (PRINTED[name], 0), done.stderr


@pytest.mark.full
def test_a_mistake_is_shown_at_the_line_of_the_script(pictures: Path) -> None:
    done = run("with_a_mistake", pictures, "-m", "gradiva", "run")
    script = FOLDER / "with_a_mistake.py"
    assert (done.stdout, done.returncode) == ("starts\n", 1)
    first, *places = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    files = [line.strip() for line in places if line.startswith("  File")]
    assert files == [
        f'File "{script}", line 16, in <module>',
        f'File "{script}", line 12, in training',
    ]
    assert "ArgumentNameError: resize: there is no argument `resize_with`; did" in done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_checked(name: str) -> None:
    """The check finds what the run finds, and nothing else."""
    report = compat.check(FOLDER / f"{name}.py")
    missing = [(one.line, one.name, one.argument) for one in report.missing]
    wrong = [(12, "fn.resize", "resize_with")] if name == "with_a_mistake" else []
    assert missing == wrong
    assert len(report.there) > 3
