"""The cache of kernels never stops work: full disks, missing folders, damaged files, kills."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gradiva.__main__ import show_info
from gradiva.eager.jit import kernel_cache
from gradiva.eager.jit.jit import Kernel, jit
from gradiva.eager.jit.kernel_cache import KernelFolder, cache_folder, kernel_folder
from gradiva.eager.support.private_folder import private_folder
from tests.eager.jit.package_copy import ROOT, run_script
from tests.tiers import few


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, as a new process finds it; nothing has been told."""
    monkeypatch.setenv("GRADIVA_CACHE", str(tmp_path))
    forget(monkeypatch)
    return tmp_path / "gradiva"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    for name, value in (("_folder", None), ("_folder_known", False), ("_told", False)):
        monkeypatch.setattr(kernel_cache, name, value)
    monkeypatch.setattr(kernel_cache, "_lack", "")


def _tripled(value: int) -> int:
    return 3 * value


def tripled() -> Any:
    """A kernel that is not compiled yet."""
    return jit(_tripled)


def misses(kernel: Any) -> int:
    """How many signatures were compiled, not loaded."""
    assert isinstance(kernel, Kernel)
    return sum(kernel.dispatcher().stats.cache_misses.values())


def test_the_cache_is_private_and_is_used(fresh: Path) -> None:
    first, second = tripled(), tripled()
    assert (first(2), misses(first)) == (6, 1)
    assert (second(2), misses(second)) == (6, 0)
    folder = cache_folder()
    assert folder == fresh
    kept = kernel_folder(_tripled)
    assert kept is not None
    assert kept.path is not None
    assert kept.path.parent == folder
    (file,) = kept.path.iterdir()
    for place in (folder, kept.path, folder / "unfinished", file):
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    open_folder = tmp_path / "open"
    open_folder.mkdir(mode=0o777)
    open_folder.chmod(0o777)
    assert private_folder(open_folder) is None
    readable = tmp_path / "readable"
    readable.mkdir(mode=0o755)
    assert private_folder(readable) == readable
    assert stat.S_IMODE(readable.stat().st_mode) == 0o700
    link = tmp_path / "link"
    link.symlink_to(readable)
    assert private_folder(link) is None


def test_an_open_cache_is_neither_read_nor_written(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others could have put pickles there."""
    assert tripled()(2) == 6
    fresh.chmod(0o777)
    before = sorted(fresh.rglob("*"))
    forget(monkeypatch)
    kernel = tripled()
    with pytest.warns(RuntimeWarning, match="others can write into it.*GRADIVA_CACHE"):
        assert (kernel(2), misses(kernel)) == (6, 1)
    assert sorted(fresh.rglob("*")) == before
    fresh.chmod(0o700)
    for kept in fresh.glob("_tripled-*"):
        kept.chmod(0o770)
    forget(monkeypatch)
    kernel = tripled()
    with pytest.warns(RuntimeWarning, match="others can write into it"):
        assert (kernel(2), misses(kernel)) == (6, 1)


def failing(code: int, but: Callable[..., bool] = lambda *_: False) -> Callable[..., Any]:
    def fail(*words: Any, **_: Any) -> Any:
        if not but(*words):
            raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize(
    "code", few([errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES], errno.ENOSPC)
)
@pytest.mark.parametrize("call", few(["write", "replace", "open", "mkdir"], "write"))
def test_what_cannot_be_written_is_told_once(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    """The kernel is compiled and used; the warning names the folder, the reason and a way out."""
    assert cache_folder() == fresh
    monkeypatch.setattr(Path if call == "mkdir" else os, call, failing(code))
    kernel = tripled()
    with pytest.warns(RuntimeWarning) as told:
        assert (kernel(2), kernel(2.0)) == (6, 6.0)
    (warning,) = told
    for part in (str(fresh), os.strerror(code), "GRADIVA_CACHE", "in every process"):
        assert part in str(warning.message)
    assert tripled()(2) == 6  # pytest makes an error of another warning
    monkeypatch.undo()
    assert not list(fresh.glob("*/*"))


def test_a_warning_may_be_an_error(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user wants that, the next call works."""
    assert cache_folder() == fresh
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    kernel = tripled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="No space left"):
            kernel(2)
        assert kernel(2) == 6
        assert tripled()(2) == 6


def test_no_folder_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file where the folder would be, as any user may have it."""
    for name in ("GRADIVA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    forget(monkeypatch)
    kernel = tripled()
    with pytest.warns(RuntimeWarning) as told:
        assert kernel(2) == 6
    (warning,) = told
    for part in (f"{tmp_path}/home/.cache/gradiva", "Not a directory", "set GRADIVA_CACHE"):
        assert part in str(warning.message)
    assert tripled()(2) == 6
    assert cache_folder() is None
    show_info()
    shown = f"kernel cache off: {tmp_path}/home/.cache/gradiva: Not a directory\n"
    assert shown in capsys.readouterr().out


def test_a_cache_that_can_only_be_read_is_read(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the image of a container: nothing is written, and nothing told."""
    assert tripled()(2) == 6
    forget(monkeypatch)
    for owner, name in (
        (os, "utime"),
        (os, "write"),
        (os, "unlink"),
        (os, "open"),
        (Path, "chmod"),
    ):
        monkeypatch.setattr(owner, name, failing(errno.EROFS))
    monkeypatch.setattr(Path, "mkdir", failing(errno.EROFS, lambda path: path.is_dir()))
    kernel = tripled()
    assert (kernel(2), misses(kernel)) == (6, 0)


def test_what_cannot_be_described_is_compiled(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tripled, "__defaults__", (object(),))
    kernel = tripled()
    with pytest.warns(RuntimeWarning, match="_tripled cannot be kept: .*a value of the type obj"):
        assert kernel(2) == 6


def test_a_cache_that_is_removed_is_made_again(fresh: Path) -> None:
    kernel = tripled()
    assert kernel(2) == 6
    shutil.rmtree(fresh)
    assert kernel(2.0) == 6.0
    assert len(list(fresh.glob("_tripled-*/*"))) == 1


# An operator with a small kernel in a process of its own, and two more with three more kernels.
BOXES = """
import json, os, sys, warnings
import numpy as np, gradiva
from gradiva.eager.jit.jit import compiled_kernels
exec(sys.argv[1])
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    boxes = gradiva.bb_flip(np.array([[0.0, 0.25, 0.5, 0.5]], np.float32))
    assert np.asarray(boxes).tolist() == [[0.5, 0.25, 0.5, 0.5]], boxes
    # more
print(json.dumps([len(compiled_kernels), [str(it.message) for it in told]]))
"""
MORE = BOXES.replace(
    "    # more",
    """
    marks = gradiva.one_hot(np.int32(1), num_classes=3)
    assert np.asarray(marks).tolist() == [0, 1, 0], marks
    gradiva.random.set_seed(7)
    coins = gradiva.random.coin_flip(batch_size=8).as_array().tolist()
    assert coins == [1, 1, 0, 1, 1, 0, 1, 1], coins
""",
)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder in a full file system, and what a process has to do to find it so."""
    folder = tmp_path / "full"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(folder)]
    mounted = (
        shutil.which("mount")
        and not subprocess.run(words, capture_output=True, check=False).returncode
    )
    if not mounted:
        yield (
            folder,
            (
                "import errno\n"
                "def full(*_): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
                "os.write = full"
            ),
        )
        return
    try:
        yield folder, "pass"
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def require_told(told: list[str], folder: Path, reason: str) -> None:
    (text,) = told
    assert f"{folder}/gradiva: {reason}" in text
    assert "GRADIVA_CACHE" in text


@pytest.mark.full
def test_a_full_disk(full: tuple[Path, str]) -> None:
    folder, prepare = full
    for _ in range(2):
        compiled, told = run_script(BOXES, ROOT, folder, prepare)
        assert compiled == 1
        require_told(told, folder, "No space left on device")


@pytest.mark.full
def test_a_limit_on_files(tmp_path: Path) -> None:
    """The system refuses to write more, as for a quota; no test has to pretend."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))"
    compiled, told = run_script(BOXES, ROOT, tmp_path, limit)
    assert compiled == 1
    require_told(told, tmp_path, "File too large")


def kernel_files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "gradiva").glob("*-*/*") if path.is_file())


HARMS: list[Callable[[bytes], bytes]] = [
    lambda data: b"",
    lambda data: data[: len(data) // 2],
    lambda data: bytes(len(data)),
    lambda data: data[:200] + bytes([data[200] ^ 4]) + data[201:],
]


@pytest.mark.full
def test_damaged_files_are_compiled_again(tmp_path: Path) -> None:
    """Each file in another way; the next process finds all whole."""
    assert run_script(MORE, ROOT, tmp_path, "pass") == [4, []]
    files = kernel_files(tmp_path)
    assert len(files) == len(HARMS) == 4
    for file, harm in zip(files, HARMS, strict=True):
        file.write_bytes(harm(file.read_bytes()))
    assert run_script(MORE, ROOT, tmp_path, "pass") == [4, []]
    assert run_script(MORE, ROOT, tmp_path, "pass") == [0, []]


# Each damage to the file of a compiled loop: nothing is loaded, nothing unpickled; then the whole
# file is there again, and is loaded. The last line is printed by a process that has not crashed.
HARMED = """
import json, pathlib, random, sys
import numpy as np, gradiva
from gradiva.eager.jit import kernel_cache, numba_compiler
from gradiva.eager.jit.jit import jit
def total(values):
    result = 0.0
    for value in values:
        result += np.sqrt(value)
    return result
def loaded():
    made = jit(total).dispatcher()
    return made(np.arange(4.0)) == made.py_func(np.arange(4.0)), sum(made.stats.cache_hits.values())
assert loaded() == (True, 0)
assert loaded() == (True, 1)
(file,) = kernel_cache.cache_folder().glob("total-*/*")
whole, drawn = file.read_bytes(), random.Random(5)
harmed = [whole[: len(whole) * k // 50] for k in range(50)]
for _ in range(200):
    data = bytearray(whole)
    data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
    harmed.append(bytes(data))
for first in range(0, len(whole), 512):
    harmed.append(whole[:first] + bytes(min(512, len(whole) - first)) + whole[first + 512 :])
dispatcher = jit(total).dispatcher()
context = dispatcher.targetctx
signature = (gradiva.eager.jit.jit.load_numba().typeof(np.arange(4.0)),)
harmed = [data for data in harmed if data != whole]
unpickled = []
loads = numba_compiler.pickle.loads
numba_compiler.pickle.loads = lambda data: unpickled.append(1) or loads(data)
for data in harmed:
    file.write_bytes(data)
    assert dispatcher._cache.load_overload(signature, context) is None
    assert not file.exists()
assert not unpickled
file.write_bytes(whole)
assert loaded() == (True, 1)
assert unpickled == [1]
for data in (harmed[0], harmed[25], harmed[60], harmed[-1]):
    file.write_bytes(data)
    assert loaded() == (True, 0)
    assert loaded() == (True, 1)
print(json.dumps(len(harmed)))
"""


@pytest.mark.full
def test_nothing_of_a_damaged_file_is_run(tmp_path: Path) -> None:
    assert run_script(HARMED, ROOT, tmp_path) > 250


@pytest.mark.full
def test_a_process_killed_while_it_writes(tmp_path: Path) -> None:
    """The next one works; what was left is removed, when nobody can be writing it any more."""
    environment = {**os.environ, "GRADIVA_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    prepare = "import signal; os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
    words = [sys.executable, "-c", BOXES, prepare]
    run = subprocess.run(words, capture_output=True, cwd=ROOT, env=environment, check=False)
    assert run.returncode == -signal.SIGKILL
    assert kernel_files(tmp_path) == []
    (left,) = (tmp_path / "gradiva" / "unfinished").iterdir()
    assert run_script(BOXES, ROOT, tmp_path, "pass") == [1, []]
    assert left.exists()
    long_ago = time.time() - 2 * 3600
    os.utime(left, (long_ago, long_ago))
    assert run_script(BOXES, ROOT, tmp_path, "pass") == [0, []]
    assert not left.exists()


@pytest.mark.full
def test_processes_that_write_the_same_kernels(tmp_path: Path) -> None:
    environment = {**os.environ, "GRADIVA_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", BOXES, "pass"]
    runs = [
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
        for _ in range(3)
    ]
    for run in runs:
        output, _ = run.communicate(timeout=300)
        assert run.returncode == 0
        assert json.loads(output)[1] == []
    assert run_script(BOXES, ROOT, tmp_path, "pass") == [0, []]
    assert list((tmp_path / "gradiva" / "unfinished").iterdir()) == []


def test_what_nobody_uses_is_removed(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of kernels after a month; not that of unfinished files; also if another process
    removes the same at this moment."""
    assert cache_folder() == fresh
    ages = {"old-1": 31, "old-2": 31, "gone": 31, "young-1": 29, "unfinished": 31}
    for name, days in ages.items():
        (fresh / name).mkdir()
        (fresh / name / "file").write_bytes(b"x")
        long_ago = time.time() - days * 24 * 3600
        os.utime(fresh / name, (long_ago, long_ago))
    real = Path.stat

    def vanishing(path: Path, **words: Any) -> os.stat_result:
        if path.name == "gone":
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(path, **words)

    monkeypatch.setattr(Path, "stat", vanishing)
    forget(monkeypatch)
    assert cache_folder() == fresh
    monkeypatch.undo()
    assert sorted(it.name for it in fresh.iterdir()) == ["gone", "unfinished", "young-1"]
    assert (fresh / "unfinished" / "file").exists()


def test_meanings_are_those_of_the_kernel(fresh: Path) -> None:
    """A file in the folder of another kernel is not taken."""
    first, second = KernelFolder("one-1", None), KernelFolder("two-2", None)
    first.write("name", "int64", b"code")
    assert first.read("name", "int64") == b"code"
    shutil.copytree(fresh / "one-1", fresh / "two-2", dirs_exist_ok=True)
    assert second.read("name", "int64") is None
    assert first.read("name", "float64") is None
