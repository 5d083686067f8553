"""GPU kernels compiled for the CPU by g++ under shim.h, each once.

What is compiled is kept with the other compiled kernels, under a digest of its source and of the
compiler, so that g++ sees only what has changed. It may be deleted at any time.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from gradiva.eager.cuda.launch import THREADS, KernelSource
from gradiva.eager.jit.kernel_cache import cache_folder

HEADER = Path(__file__).parent / "shim.h"
COMPILER = shutil.which("g++")
NO_COMPILER = "there is no g++ to run GPU kernels on the CPU with"
SANITIZERS = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
OPTIONS = ("-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-Wall", "-Wno-unknown-pragmas")


class ShimError(Exception):
    """A kernel did not compile, or the program that ran it was stopped; what it said."""


def program_of(units: Sequence[KernelSource], sanitize: bool) -> Path:
    """A program that runs launches of these kernels; tests/gpu/shim.py talks to it."""
    options = OPTIONS + (SANITIZERS if sanitize else ())
    objects = objects_of(units, options)
    functions = [f"launch_{_digest(unit, options)}" for unit in units]
    text = '#include "shim.h"\n'
    for name in functions:
        text += f'extern "C" void {name}(void**, unsigned, unsigned, bool);\n'
    text += f"static const shim::Launcher launchers[] = {{{', '.join(functions)}}};\n"
    text += (
        "int main(int count, char** words) "
        f"{{ return shim::run(launchers, {THREADS}, count, words); }}\n"
    )
    kept = _folder() / _digest(text, options, objects)
    if not kept.exists():
        _compile(text, kept, *options, *map(str, objects))
    return kept


def library_of(unit: KernelSource) -> tuple[Path, str]:
    """A shared library with a kernel, and its function: (pointers to the arguments, blocks,
    threads, whether backward)."""
    (path,) = objects_of([unit], OPTIONS)
    kept = path.with_suffix(".so")
    if not kept.exists():
        _compile("", kept, "-shared", str(path))
    return kept, f"launch_{_digest(unit, OPTIONS)}"


def objects_of(units: Iterable[KernelSource], options: tuple[str, ...] = OPTIONS) -> list[Path]:
    """The object files that hold these kernels.

    Those that are not there are compiled together, since reading shim.h takes longer than most of
    them. A link leads from each kernel's digest to the file that it is in.
    """
    links = {_folder() / f"{_digest(unit, options)}.o": unit for unit in units}
    missing = [link for link in links if not link.exists()]
    if missing:
        text = '#include "shim.h"\n' + "".join(_source(links[link], link.stem) for link in missing)
        made = _folder() / f"group-{_digest(text, options)}.o"
        _compile(text, made, "-c", *options)
        for link in missing:
            part = _part(link)
            part.symlink_to(made.name)
            part.replace(link)
    return sorted({link.resolve() for link in links})


def _source(unit: KernelSource, digest: str) -> str:
    """A kernel, and the function that runs it: all that is seen from outside. Kernels use the same
    names for different things. Two processes may compile a kernel at once, hence `weak`."""
    barriers = "true" if "__syncthreads" in unit.text else "false"
    return (
        f"namespace {{ namespace unit_{digest} {{\n{unit.text}\n#undef THREADS\n"
        f"void entry(void** given) {{ shim::call({unit.kernel}, given); }}\n}} }}\n"
        f'extern "C" __attribute__((weak)) void launch_{digest}'
        "(void** given, unsigned blocks, unsigned threads, bool backward) {\n"
        f"    shim::launch(unit_{digest}::entry, given, blocks, threads, {barriers}, backward);\n"
        "}\n"
    )


@functools.cache
def _compiled_header(options: tuple[str, ...]) -> Path:
    """The folder of shim.h as g++ keeps what it has read, with these options."""
    folder = _folder() / f"header-{_digest(options)}"
    if not (folder / "shim.h.gch").exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            source, made = Path(work, "shim.h"), Path(work, "shim.h.gch")
            shutil.copy2(HEADER, source)
            _run([*options, "-w", "-x", "c++-header", str(source), "-o", str(made)])
            _place(source, folder / "shim.h")
            _place(made, folder / "shim.h.gch")
    return folder


def _compile(text: str, kept: Path, *options: str) -> None:
    """Let g++ make a file of a text, if there is one, and of what the options name."""
    with tempfile.TemporaryDirectory() as work:
        made = Path(work, "made")
        words = [*options, "-o", str(made)]
        if text:
            source = Path(work, "kernels.cpp")
            source.write_text(text, "utf-8")
            flags = tuple(option for option in options if option in (*OPTIONS, *SANITIZERS))
            words = [f"-I{_compiled_header(flags)}", str(source), *words]
        _run(words)
        _place(made, kept)


def _run(words: Sequence[str]) -> None:
    assert COMPILER is not None, NO_COMPILER
    run = subprocess.run([COMPILER, *words], capture_output=True, text=True, check=False)
    if run.returncode:
        raise ShimError(run.stderr[:4000])


def _place(made: Path, kept: Path) -> None:
    """Put a file in its place at once: other processes may be about the same."""
    part = _part(kept)
    shutil.copy2(made, part)
    part.replace(kept)


def _part(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}.{os.getpid()}.{threading.get_ident()}")


def _digest(*parts: object) -> str:
    """A digest of the parts, of the compiler and of shim.h."""
    return hashlib.sha256(f"{_environment()}\n{parts!r}".encode()).hexdigest()[:24]


@functools.cache
def _environment() -> str:
    """What all that is compiled depends on: the compiler, and shim.h."""
    assert COMPILER is not None, NO_COMPILER
    run = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    return run.stdout + HEADER.read_text("utf-8")


def _folder() -> Path:
    base = cache_folder()
    folder = Path(tempfile.gettempdir()) / "gradiva-shim" if base is None else base / "shim"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
