"""What a person sees of a value: a line of text, or thumbnails in a notebook."""

from __future__ import annotations

import html as markup
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradiva.eager.values.batch import Batch
from gradiva.eager.values.shown import to_html, to_text
from gradiva.eager.values.tensor import Tensor

from .grid import Cell, grid_html
from .thumbnails import draw

__all__ = ["MOST", "batch_text", "html", "tensor_text"]

MOST = 16
_THUMBNAIL = 128
_NUMBERS = 12


def tensor_text(tensor: Tensor) -> str:
    layout = f", layout={tensor.layout!r}" if tensor.layout else ""
    values = _values(np.asarray(tensor.cpu()))
    where = "" if tensor.device.device_type == "cpu" else f", device='{tensor.device}'"
    return f"Tensor({values}, shape={tensor.shape}, dtype={tensor.dtype}{layout}{where})"


def batch_text(batch: Batch) -> str:
    shapes = batch.shape
    if batch.batch_shape.uniform and shapes:
        shape = f"shape={shapes[0]}"
    else:
        shown = ", ".join(map(str, shapes[:4])) + (", ..." if len(shapes) > 4 else "")
        shape = f"shapes=[{shown}]"
    layout = f", layout={batch.layout!r}" if batch.layout else ""
    text = f"Batch({len(batch)} samples, {shape}, dtype={batch.dtype}{layout}"
    text += f", device='{batch.device}')"
    if batch.ndim <= 1 and len(batch) and batch.nbytes // batch.dtype.itemsize <= _NUMBERS * 4:
        here = batch.cpu().tensors[:_NUMBERS]
        values = ", ".join(_values(np.asarray(sample)) for sample in here)
        text = f"{text[:-1]}, values=[{values}{', ...' if len(batch) > _NUMBERS else ''}])"
    return text


def _values(array: np.ndarray[Any, Any]) -> str:
    if array.size > _NUMBERS:
        return f"<{array.size} values>"
    return np.array2string(array, separator=", ", max_line_width=1000).replace("\n", "")


def html(tensors: Sequence[Tensor], batch: Batch | None = None) -> str:
    """Thumbnails of the samples, and a caption with shape, dtype, layout and device.

    Under each sample stand its file, where known, its shape, and what was done to draw it.
    """
    caption = repr(batch) if batch is not None else repr(tensors[0])
    if batch is None and tensors[0].device.device_type == "cpu":
        caption = f"{caption[:-1]}, device='cpu')"
    parts = [f"<div><code>{markup.escape(caption)}</code></div>"]
    cells = [] if "values=" in caption else [_cell(tensor, batch is None) for tensor in tensors]
    if any(cell is not None for cell in cells):
        parts.append(grid_html([cell for cell in cells if cell is not None], _THUMBNAIL))
        if batch is not None and len(batch) > len(tensors):
            parts.append(f"<div>... and {len(batch) - len(tensors)} more</div>")
    return "".join(parts)


def _cell(tensor: Tensor, alone: bool) -> Cell | None:
    """A sample, or None if the caption above says all there is to say."""
    array = np.asarray(tensor.cpu())
    if alone and array.size <= _NUMBERS:
        return None
    drawing = draw(array, str(tensor.layout), _THUMBNAIL)
    shape = " x ".join(map(str, array.shape))
    name = os.path.basename(tensor.source_info())
    return Cell(
        drawing.pixels, drawing.text, (name, shape, drawing.note), animation=drawing.animation
    )


def _text(value: Tensor | Batch) -> str:
    return batch_text(value) if isinstance(value, Batch) else tensor_text(value)


def _html(value: Tensor | Batch) -> str:
    if isinstance(value, Batch):
        return html(value.tensors[:MOST], batch=value)
    return html([value])


to_text.fill(_text)
to_html.fill(_html)
