"""Modules that are loaded when they are first used.

`import gradiva` must stay fast and must not need a compiler or a GPU library, so numba, cv2, PIL,
simplejpeg and cupy are named at the top of a file like any other import, but loaded on first use.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    def __init__(self, name: str, extra: str | None) -> None:
        super().__init__(name)
        self.__dict__["_extra"] = extra

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        try:
            module = importlib.import_module(self.__name__)
        except ImportError as error:
            if self.__name__.partition(".")[0] == __name__.partition(".")[0]:
                raise  # a module of ours says itself what it lacks
            hint = f"; install it with: pip install {self._extra}" if self._extra else ""
            raise ImportError(f"gradiva needs {self.__name__} for this{hint} ({error})") from error
        value = getattr(module, attribute)
        self.__dict__[attribute] = value
        return value


@cache
def can_import(name: str) -> bool:
    """Whether this module can be imported. That imports it, once."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def lazy_module(name: str, install: str | None = None) -> Any:
    """Return a stand-in for the module `name` that imports it when an attribute is first read.

    `install` is what a user would give to pip, named in the error if the module is missing.
    """
    return _LazyModule(name, install or name)
