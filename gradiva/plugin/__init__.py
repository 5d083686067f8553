"""Bridges to other libraries, each loaded when it is imported or asked for."""

from gradiva.eager.support.lazy_names import lazy_names as _lazy_names

_BRIDGES = (
    *("base_iterator", "huggingface", "jax", "mxnet", "numba", "numpy", "paddle", "pytorch", "ray"),
    *("row_source", "tf", "triton"),
)
__getattr__, __dir__ = _lazy_names(__name__, {name: f"{__name__}.{name}" for name in _BRIDGES})
