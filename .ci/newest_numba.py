"""Tries the newest release of Numba and its newest prerelease: what breaks with them?

gradiva uses private parts of Numba, so pyproject.toml allows only versions that were tried. This is
no check of a submission. Run it with any supported Python, `python .ci/newest_numba.py`, before the
upper bound is raised. It makes a virtual environment in a temporary folder for each version, runs
the tests of the compiler and one case of each operator there, and prints the tests that fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER = ("tests/eager/jit", "tests/eager/rows", "tests/eager/simd")
TESTS = (*COMPILER, "tests/eager/operators/test_operators.py", "tests/ops/image")
LIMIT_S = 30 * 60


def main() -> int:
    """Returns an exit code: 1 if a version could not be installed, or a test failed."""
    results: dict[str, bool] = {}
    with tempfile.TemporaryDirectory(prefix="numba-") as folder:
        for kind in ("release", "prerelease"):
            try_version(Path(folder), kind, results)
    print("\nThe newest versions of Numba:")
    for version, passed in results.items():
        print(f"  {version}: {'passed' if passed else 'FAILED'}")
    return int(not all(results.values()))


def try_version(folder: Path, kind: str, results: dict[str, bool]) -> None:
    """Add the newest version of this kind, and whether it is good, unless it is there already."""
    program = str(folder / kind / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(folder / kind)], check=True)
    install = [program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # The bounds of pyproject.toml hold in the first call only.
    calls = [["--editable", f"{ROOT}[test]"], ["--upgrade", "--only-binary", "numba", "numba"]]
    calls[1] += ["--pre"] if kind == "prerelease" else []
    for call in calls:
        if subprocess.run([*install, *call], check=False).returncode:
            results[f"the newest {kind}"] = False
            return
    tell = "import numba, llvmlite; print(f'Numba {numba.__version__}, llvmlite', end=' '); "
    tell += "print(llvmlite.__version__)"
    version = subprocess.check_output([program, "-c", tell], text=True).strip()
    if version in results:
        return  # no prerelease is newer than the release
    print(f"\n{version}", flush=True)
    cache = {"GRADIVA_CACHE": str(folder / f"{kind}-kernels")}
    code = subprocess.run(
        [program, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "--tb=line", "-rfE", *TESTS],
        cwd=ROOT,
        env={**os.environ, **cache},
        timeout=LIMIT_S,
        check=False,
    ).returncode
    results[version] = code == 0


if __name__ == "__main__":
    sys.exit(main())
