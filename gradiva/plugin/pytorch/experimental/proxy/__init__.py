"""A pipeline of the main process for the workers of a torch DataLoader."""

from importlib import import_module
from typing import Any

from gradiva.plugin.pytorch.experimental.proxy.calls import DALIOutputBatchRef, DALIOutputSampleRef
from gradiva.plugin.pytorch.experimental.proxy.server import DALIServer

__all__ = ["DALIOutputBatchRef", "DALIOutputSampleRef", "DALIServer", "DataLoader"]


def __getattr__(name: str) -> Any:
    if name == "DataLoader":  # a class of torch's, which is not imported for the server alone
        return import_module(f"{__name__}.loader").DataLoader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
