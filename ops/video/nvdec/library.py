"""PyNvVideoCodec, imported when it is first needed; what it lacks in a sentence."""

from __future__ import annotations

import importlib
from typing import Final, cast

from gradiva.eager import extension as op

from .protocol import NvVideoCodec

__all__ = ["load"]

_NAME: Final = "PyNvVideoCodec"


def load() -> NvVideoCodec:
    """The module. Raises OperatorRuntimeError that says what is missing."""
    try:
        return cast(NvVideoCodec, importlib.import_module(_NAME))
    except (ImportError, OSError, RuntimeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == _NAME:
            raise op.OperatorRuntimeError(
                "videos are decoded on a GPU through PyNvVideoCodec, which is not installed: "
                "pip install 'gradiva[nvdec]' (on x86-64), or leave out `device`"
            ) from None
        raise op.OperatorRuntimeError(
            "PyNvVideoCodec, which decodes videos on a GPU, cannot be loaded: it needs the NVIDIA "
            f"driver with its video libraries (libnvcuvid.so.1); {error}"
        ) from None
