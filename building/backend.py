"""Builds wheels as setuptools does, with machine code in them for the kernels of usual pipelines,
with docs/differences.md, which `gradiva.compat` reads, and with stub files for old import paths.

The sources of the wheel run in a process of their own, with an empty folder for their kernels; what
they left there is put into the wheel as `gradiva/prebuilt`. Nothing is loaded from there unless
CPU, versions and sources are the same (`eager/jit/prebuilt.py`). `GRADIVA_PREBUILD=0` leaves
it out; so do an editable install, and a build in which the kernels cannot be compiled.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from contents import contents
from prebuild import add_files, compiled, is_wanted, needed
from setuptools import build_meta

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

build_editable = build_meta.build_editable
build_sdist = build_meta.build_sdist
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Those of setuptools, and what compiles and runs the pipelines."""
    required: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    return required + (needed() if is_wanted() else [])


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """The wheel of setuptools, with more files."""
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    wheel = Path(wheel_directory, name)
    add_files(wheel, contents())
    if is_wanted():
        with tempfile.TemporaryDirectory() as folder:
            try:
                add_files(wheel, compiled(wheel, folder))
            except (OSError, subprocess.SubprocessError) as error:
                print(f"gradiva: built without machine code: {error}", file=sys.stderr)
    return name
