"""Runs the core tests on the oldest and the newest other Python that this machine has.

Both run at once; then the newest makes batches again from receipts of the oldest. The oldest gets
the oldest versions that pyproject.toml allows of all dependencies, the newest the newest ones. Run
it with a Python in which gradiva is installed:
`.venv/bin/python .ci/other_pythons.py [--install-only] [oldest] [newest]`. It leaves `.venv-oldest`
and `.venv-newest`; what `--install-only` has installed is not installed again.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("test",)
SELECTION = "core and not full and not oracle"
INSTALL_ONLY = "--install-only"
INSTALLED = "installed.txt"
LIMIT_S = 15 * 60
"""A run takes five minutes on two free cores, all kernels compiled. Later than this it hangs."""
TELL = (
    "import sys; i = sys.implementation; v = sys.version_info; "
    "print(i.name, v.releaselevel, *v[:3], sys.executable)"
)


class Python(NamedTuple):
    version: tuple[int, int, int]
    program: str

    def __str__(self) -> str:
        return "Python " + ".".join(map(str, self.version))


def main(wanted: list[str]) -> int:
    """Returns an exit code: 1 if a run failed."""
    others = [one for one in find_pythons() if one.version[:2] != sys.version_info[:2]]
    if not others:
        print("There is no other Python here that gradiva supports: nothing was run.")
        return 0
    which = [word for word in wanted if word != INSTALL_ONLY] or ["oldest", "newest"]
    runs: list[tuple[list[Python], str, list[str]]] = []
    if "oldest" in which:
        runs.append((others, "oldest", oldest_allowed()))
    if "newest" in which:
        runs.append((others[::-1], "newest", []))
    with ThreadPoolExecutor() as at_once:
        if INSTALL_ONLY in wanted:
            return int(not all(at_once.map(lambda run: install_in_turn(*run), runs)))
        results = list(at_once.map(lambda run: install_and_run(*run), runs))
    if len(runs) == 2 and all(passed for _, passed in results):
        results.append(exchange_receipts())
    print("\nOther versions of Python:")
    for line, _ in results:
        print(f"  {line}")
    return int(not all(passed for _, passed in results))


def find_pythons() -> list[Python]:
    """The supported versions that are installed, one of each minor version, in their order."""
    lowest = re.search(r">=\s*(\d+)\.(\d+)", metadata("gradiva")["Requires-Python"])
    assert lowest is not None, "pyproject.toml says from which Python on"
    found: dict[tuple[int, ...], Python] = {}
    for program in [*_of_pyenv(), *_on_the_path()]:
        told = subprocess.run([program, "-c", TELL], capture_output=True, text=True, check=False)
        # What pyenv puts on the path for a version that is not in use says so, and fails.
        if told.returncode:
            continue
        name, level, *numbers, executable = told.stdout.split()
        version = (int(numbers[0]), int(numbers[1]), int(numbers[2]))
        if name != "cpython" or level != "final" or version < tuple(map(int, lowest.groups())):
            continue
        known = found.get(version[:2])
        if known is None or known.version < version:
            found[version[:2]] = Python(version, executable)
    return sorted(found.values())


def _of_pyenv() -> list[str]:
    if shutil.which("pyenv") is None:
        return []
    root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True)
    return [str(path) for path in Path(root.stdout.strip()).glob("versions/*/bin/python")]


def _on_the_path() -> list[str]:
    names = (f"python3.{minor}" for minor in range(10, 30))
    return [program for name in names if (program := shutil.which(name))]


def oldest_allowed() -> list[str]:
    """Constraints for pip: of each dependency the oldest minor version that is allowed."""
    pins = []
    for requirement in requires("gradiva") or ():
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if extra is not None and extra[1] not in EXTRAS:
            continue
        bound = re.search(r">=\s*([\d.]+)", requirement.partition(";")[0])
        if bound is not None:
            major, minor = (*bound[1].split("."), "0")[:2]
            pins.append(f"{name_of(requirement)}=={major}.{minor}.*")
    assert pins, "pyproject.toml has lower bounds"
    return pins


def install_and_run(pythons: list[Python], which: str, pins: list[str]) -> tuple[str, bool]:
    """Returns what is to be said of it, and whether it is good."""
    done = ROOT / f".venv-{which}" / INSTALLED
    if not done.exists() and not install_in_turn(pythons, which, pins):
        return f"the {which} dependencies: FAILED to install", False
    version = done.read_text("utf-8")
    done.unlink()  # the next run installs anew
    if not version:
        return f"the {which} dependencies: there is no build of Numba for a Python here", True
    return run_tests(version, which)


def install_in_turn(pythons: list[Python], which: str, pins: list[str]) -> bool:
    """Install on the first of these for which there is a build of Numba, which comes late for new
    ones. Its version is left in a file, which is empty if there is none."""
    folder = ROOT / f".venv-{which}"
    program = str(folder / "bin" / "python")
    constraints = folder / "constraints.txt"
    install = [program, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    install += ["--no-compile"]  # what is imported is compiled then
    install += ["--constraint", str(constraints)]
    for python in pythons:
        subprocess.run([python.program, "-m", "venv", "--clear", str(folder)], check=True)
        constraints.write_text("".join(f"{pin}\n" for pin in pins), "utf-8")
        numba = subprocess.run(
            [*install, "--only-binary", ":all:", "numba"],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if numba.returncode == 0:
            subprocess.run([*install, "--editable", f"{ROOT}[{','.join(EXTRAS)}]"], check=True)
            (folder / INSTALLED).write_text(str(python), "utf-8")
            return True
        if "No matching distribution" not in numba.stderr:
            print(f"{python}: FAILED, pip says: {numba.stderr.strip()}")
            return False
        print(f"{python}: there is no build of Numba for it with the {which} dependencies")
    (folder / INSTALLED).write_text("", "utf-8")
    return True


def run_tests(python: str, which: str) -> tuple[str, bool]:
    """Run the selection, and end it where it hangs. What it prints is shown as a whole."""
    program = str(ROOT / f".venv-{which}" / "bin" / "python")
    what = f"{python}, {which} dependencies ({installed(program)})"
    began = time.monotonic()
    # Stacks can be asked for to the end, also when pytest itself is done.
    surroundings = {**os.environ, "PYTHONFAULTHANDLER": "1"}
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed,
        subprocess.Popen(
            [program, "-m", "pytest", "-m", SELECTION],
            cwd=ROOT,
            env=surroundings,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            code = end(process)
        printed.seek(0)
        print(f"\nThe core tests on {what}\n{printed.read()}", flush=True)
    took = f"{time.monotonic() - began:.0f} s"
    return f"{what}: {'passed' if code == 0 else f'FAILED with {code}'}, {took}", code == 0


def exchange_receipts() -> tuple[str, bool]:
    """Have the newest Python make the batches of 1,000 receipts of the oldest one again. Returns
    what is to be said of it, and whether it is good."""
    programs = [ROOT / f".venv-{which}" / "bin" / "python" for which in ("oldest", "newest")]
    if not all(program.exists() for program in programs):
        return "receipts: not exchanged, since one Python is missing", True
    module = ["-m", "tests.gradiva.many_receipts"]
    with tempfile.TemporaryDirectory() as folder:
        for program, order in zip(
            programs, (["make", folder, "1000"], ["check", folder]), strict=True
        ):
            run = subprocess.run([program, *module, *order], cwd=ROOT, timeout=LIMIT_S, check=False)
            if run.returncode:
                return f"receipts: {order[0]} FAILED", False
    return "1,000 receipts of the oldest Python: reproduced by the newest", True


def end(process: subprocess.Popen[bytes]) -> int:
    """End a run that hangs: it prints the stacks of all threads first."""
    print(f"\nno end after {LIMIT_S} s: it hangs", flush=True)
    process.send_signal(signal.SIGABRT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(30)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # workers that are left, too
    return process.wait()


def installed(program: str) -> str:
    """The versions of what gradiva itself depends on."""
    names = [name_of(one) for one in requires("gradiva") or () if "extra ==" not in one]
    tell = "import sys; from importlib.metadata import version as v; "
    tell += "print(', '.join(f'{name} {v(name)}' for name in sys.argv[1:]))"
    return subprocess.check_output([program, "-c", tell, *names], text=True).strip()


def name_of(requirement: str) -> str:
    """The name of the package that is required."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
