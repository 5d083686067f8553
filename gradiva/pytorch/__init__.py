"""PyTorch beside dynamic mode: `Batch.torch` and `Tensor.torch` return torch tensors, and
`gradiva.as_batch`, `gradiva.as_tensor` take them. `nodes`: readers for torchdata."""

from importlib import import_module
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name == "nodes":
        try:
            return import_module(f"{__name__}.nodes")
        except ModuleNotFoundError as error:
            if error.name != "torchdata":
                raise
            raise ImportError(
                "gradiva.pytorch.nodes needs torchdata: pip install torchdata", name=error.name
            ) from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
