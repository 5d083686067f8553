"""PyTorch beside dynamic mode: `Batch.torch` and `Tensor.torch` return torch tensors, and
`gradiva.as_batch`, `gradiva.as_tensor` take them. This module is for scripts that import it."""

from typing import NoReturn

__all__: list[str] = []


def __getattr__(name: str) -> NoReturn:
    if name == "nodes":
        raise AttributeError(
            "gradiva.pytorch.nodes is not there yet: loop over a reader and call batch.torch(), or "
            "use the iterators of gradiva.plugin.pytorch"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
