"""What to use in place of attributes that symbols do not have: for errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_TO_DEVICE: Final = 'use `gpu()` or `to_device("gpu")`'
_CAST: Final = "use `gradiva.cast(value, dtype=...)`"
_RESHAPE: Final = "use `gradiva.reshape(value, shape=...)`"
_TRANSPOSE: Final = "use `gradiva.transpose(value, perm=...)`"

INSTEAD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("to", "cuda"), _TO_DEVICE),
    **dict.fromkeys(("astype", "float", "half", "int", "long"), _CAST),
    **dict.fromkeys(("flatten", "reshape", "view"), _RESHAPE),
    **dict.fromkeys(("permute", "transpose"), _TRANSPOSE),
    **dict.fromkeys(("clone", "copy"), "use `gradiva.copy(value)`"),
    **{
        name: f"use `gradiva.reductions.{ours}(value)`, a value for each sample"
        for name, ours in (
            ("max", "max"),
            ("mean", "mean"),
            ("min", "min"),
            ("std", "std_dev"),
            ("sum", "sum"),
            ("var", "variance"),
        )
    },
    "squeeze": "use `gradiva.squeeze(value, axes=...)`",
    "unsqueeze": "use `gradiva.expand_dims(value, axes=...)`",
}
"""Methods of arrays of NumPy and tensors of PyTorch, and what does the same here."""


_DATA = ("arrays", "as_array", "as_tensor", "at", "item", "numpy", "tensors", "tolist", "torch")
"""Attributes of batches and tensors that give their data."""

HINTS: Final[Mapping[str, str]] = {
    **INSTEAD,
    **dict.fromkeys(
        _DATA,
        "this is a symbol, and has no data while a graph is recorded; the outputs of `run` have "
        "data, and `python_function` calls a function on arrays",
    ),
}
