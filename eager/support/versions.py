"""Which code computes values that are not gradiva's own: versions of packages, as text."""

from __future__ import annotations

import platform
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

__all__ = ["library_version"]

_MODULES = {"opencv-python-headless": "cv2"}
"""Packages that have the same module under several names."""


@cache
def library_version(package: str) -> str:
    """The version of a package. NumPy's names the implementation of `exp` that fits this processor,
    too, since its elementary functions differ between those in the last bits."""
    if package == "numpy":
        return f"{version('numpy')} ({_numpy_target()})"
    if package in _MODULES:
        return str(getattr(import_module(_MODULES[package]), "__version__", "unknown"))
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _numpy_target() -> str:
    try:
        introspect = import_module("numpy.lib.introspect")
        found = introspect.opt_func_info(func_name="^exp$", signature="float64")
        return f"{platform.machine()} {found['exp']['dd']['current']}"
    except (ImportError, AttributeError, KeyError):  # NumPy before 2.2
        return platform.machine()
