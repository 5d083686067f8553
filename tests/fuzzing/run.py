"""A parser under atheris, which looks for bytes that reach new code.

    python -m tests.fuzzing.run NAME [--seconds 120] [--corpus FOLDER] [--keep]

Without a name, all of them, one after another, each in a process of its own. atheris is in no extra
of the package: `pip install atheris`. What ends a run is written to `build/fuzzing/NAME-crash-*`;
--keep adds a few of the bytes that reached most code to `tests/fuzzing/corpora`. The figures of
each parser's last run are in `benchmarks/results/fuzzing.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.eager.operators.compiled_kernels import COMPILED

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "fuzzing"
FIGURES = ROOT / "benchmarks" / "results" / "fuzzing.json"
LONGEST = 1 << 15
"""Bytes of an input."""
KEPT_FILES, KEPT_BYTES = 12, 3000
"""Of the corpus of a parser, in the repository."""


WITH_KERNELS = (
    *("cache_files", "image", "jpeg_eighth", "jpeg_window", "receipt_values", "small_jpegs"),
    "tar_headers",
)
"""`PARSERS` says so, too; it cannot be asked before modules are changed."""


def left_out(name: str) -> list[str]:
    """Modules with kernels, where these are compiled: Numba knows nothing of atheris."""
    if name not in WITH_KERNELS:
        return [*COMPILED]
    found = [path for room in ("ops", "eager", "capture") for path in (ROOT / room).rglob("*.py")]
    kernels = [
        path
        for path in found
        if re.search(r"^@.*(jit|kernel|lined|register_)", path.read_text(), re.M)
    ]
    return ["gradiva." + ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in kernels]


def fuzz(name: str, arguments: list[str]) -> None:
    """In this process, which libFuzzer ends."""
    import atheris

    layers = ["gradiva.ops", "gradiva.eager", "gradiva.capture"]
    with atheris.instrument_imports(include=layers, exclude=left_out(name)):
        from gradiva.eager.jit.background_kernel import BackgroundKernel
        from gradiva.eager.jit.jit import Kernel
        from tests.eager.operators.hostile import interpreted_call
        from tests.fuzzing.parsers import PARSERS, survives
    parser = PARSERS[name]
    if not parser.compiled:
        Kernel.__call__ = interpreted_call  # type: ignore[method-assign, assignment]
        BackgroundKernel.is_worth_compiling = lambda *_: False  # type: ignore[method-assign]  # nor do kernels call C
    with tempfile.TemporaryDirectory() as first:
        for number, data in enumerate(parser.seeds()):
            (Path(first) / f"seed-{number}").write_bytes(data)
        survives(parser, parser.seeds()[0])  # what is made once
        atheris.Setup([*arguments, first], lambda data: survives(parser, data) and None)
        atheris.Fuzz()


def attempt(name: str, seconds: int, patience: int, corpus: Path, keep: bool) -> bool:
    """Run in a process of its own; a line of figures. Whether nothing was found."""
    BUILT.mkdir(parents=True, exist_ok=True)
    corpus.mkdir(parents=True, exist_ok=True)
    known = ROOT / "tests" / "fuzzing" / "corpora" / name
    options = [
        f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={patience}",
        "-rss_limit_mb=3000", "-print_final_stats=1", f"-artifact_prefix={BUILT}/{name}-",
        "-verbosity=1", str(corpus), *([str(known)] if known.is_dir() else []),
    ]  # fmt: skip
    command = [sys.executable, "-m", "tests.fuzzing.run", "--inside", name, *options]
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    (BUILT / f"{name}.log").write_text(ran.stdout + ran.stderr)
    runs = re.findall(r"number_of_executed_units: *(\d+)|^#(\d+)", ran.stderr, re.M)
    covered = re.findall(r"cov: (\d+)", ran.stderr)
    good = ran.returncode == 0
    figures = {
        "runs": int(max(runs[-1])) if runs else 0,
        "seconds": round(time.monotonic() - began),
        "processor_seconds": round(used.ru_utime - before.ru_utime),
        "places": int(covered[-1]) if covered else 0,
        "corpus": len(list(corpus.iterdir())),
        "found": not good,
    }
    note(name, figures)
    print(f"{name}: {figures}", flush=True)
    if not good:
        shown = re.search(r"(?s)Uncaught Python exception.*?(?===\d+==|\Z)", ran.stderr)
        print((shown[0] if shown else ran.stderr)[-1500:], flush=True)
    elif keep:
        known.mkdir(parents=True, exist_ok=True)
        new = [path for path in corpus.iterdir() if path.stat().st_size <= KEPT_BYTES]
        new.sort(key=lambda path: path.stat().st_mtime_ns)
        room = KEPT_FILES - len(list(known.iterdir()))
        for path in new[-room:] if room > 0 else []:
            (known / path.name[:16]).write_bytes(path.read_bytes())
    return good


def note(name: str, figures: dict[str, Any]) -> None:
    """Put the figures of a run among the results, in place of those of the parser's last run."""
    content = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    parsers = {**content.get("parsers", {}), name: {**figures, "atheris": version("atheris")}}
    content = {"command": "python -m tests.fuzzing.run", "parsers": dict(sorted(parsers.items()))}
    FIGURES.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--inside"]:
        fuzz(sys.argv[2], [sys.argv[0], *sys.argv[3:]])
        return
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*")
    options.add_argument("--seconds", type=int, default=120, help="for each parser")
    options.add_argument("--patience", type=int, default=30, help="seconds for one input")
    options.add_argument("--corpus", type=Path, default=BUILT / "corpora")
    options.add_argument("--keep", action="store_true")
    given = options.parse_args()
    from tests.fuzzing.parsers import PARSERS

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    found = [
        name
        for name in given.names or PARSERS
        if not attempt(name, given.seconds, given.patience, given.corpus / name, given.keep)
    ]
    if found:
        sys.exit(f"something was found in: {', '.join(found)}")


if __name__ == "__main__":
    main()
