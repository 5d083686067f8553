"""Machine code for the kernels of usual pipelines, and a wheel with more files in it."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import distributions
from pathlib import Path

NEEDED = ("numba", "llvmlite", "numpy", "simplejpeg", "pillow")
"""What runs the pipelines. The machine code serves no other versions of the first three."""
LIMIT_S = 15 * 60
SCRIPT = "from gradiva.commands.warmup import run_recipes; run_recipes()"


def is_wanted() -> bool:
    """Whether the user wants machine code in the wheel."""
    return os.environ.get("GRADIVA_PREBUILD", "1") != "0"


def needed() -> list[str]:
    """The versions that are installed where the wheel probably goes, in the environment of the
    interpreter that builds it; else what the package allows."""
    places = [sysconfig.get_paths()[name] for name in ("purelib", "platlib")]
    there = {one.metadata["Name"].lower(): one.version for one in distributions(path=places)}
    lines = Path(__file__).parents[1].joinpath("pyproject.toml").read_text("utf-8").splitlines()
    start = lines.index("dependencies = [") + 1
    stated = [line.split('"')[1] for line in lines[start : lines.index("]", start)]]
    allowed = {text.partition(">")[0]: text for text in stated}
    return [f"{one}=={there[one]}" if one in there else allowed.get(one, one) for one in NEEDED]


def compiled(wheel: Path, folder: str) -> dict[str, bytes]:
    """The files of the kernels that the code in a wheel compiles, by their names in the wheel."""
    sources, cache = Path(folder, "sources"), Path(folder, "cache")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(sources)
    paths = [str(sources), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "GRADIVA_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, cwd=folder, check=True, timeout=LIMIT_S
    )
    root = cache / "gradiva"
    return {
        f"gradiva/prebuilt/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in sorted(root.glob("*-*/*"))
    }


def add_files(wheel: Path, files: dict[str, bytes]) -> None:
    """Write a wheel again, with more files in it and in its record."""
    with zipfile.ZipFile(wheel) as archive:
        contents = {info.filename: (info, archive.read(info)) for info in archive.infolist()}
    (record,) = (name for name in contents if name.endswith(".dist-info/RECORD"))
    info, lines = contents.pop(record)
    made = wheel.with_suffix(".part")
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in contents.values():
            archive.writestr(one, data, zipfile.ZIP_DEFLATED)
        for name, data in files.items():
            archive.writestr(_plain_file(name), data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            lines += f"{name},sha256={digest.decode()},{len(data)}\n".encode()
        archive.writestr(info, lines, zipfile.ZIP_DEFLATED)
    os.replace(made, wheel)


def _plain_file(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.external_attr = 0o100644 << 16
    return info
