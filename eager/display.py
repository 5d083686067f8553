"""What a person sees of a value: a line of text, or thumbnails in a notebook."""

from __future__ import annotations

import base64
import html as markup
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .lazy import lazy_module

if TYPE_CHECKING:
    import PIL.Image as pil

    from .batch import Batch
    from .tensor import Tensor
else:
    pil = lazy_module("PIL.Image", "pillow")

__all__ = ["MOST", "batch_text", "html", "picture", "tensor_text"]

MOST = 16
_THUMBNAIL = 128
_NUMBERS = 12


def tensor_text(tensor: Tensor) -> str:
    layout = f", layout={tensor.layout!r}" if tensor.layout else ""
    values = _values(np.asarray(tensor))
    return f"Tensor({values}, shape={tensor.shape}, dtype={tensor.dtype}{layout})"


def batch_text(batch: Batch) -> str:
    shapes = batch.shape
    if batch.geometry.uniform and shapes:
        shape = f"shape={shapes[0]}"
    else:
        shown = ", ".join(map(str, shapes[:4])) + (", ..." if len(shapes) > 4 else "")
        shape = f"shapes=[{shown}]"
    layout = f", layout={batch.layout!r}" if batch.layout else ""
    text = f"Batch({len(batch)} samples, {shape}, dtype={batch.dtype}{layout}, device='cpu')"
    if batch.ndim <= 1 and len(batch) and batch.nbytes // batch.dtype.itemsize <= _NUMBERS * 4:
        values = ", ".join(_values(np.asarray(sample)) for sample in batch.tensors[:_NUMBERS])
        text = f"{text[:-1]}, values=[{values}{', ...' if len(batch) > _NUMBERS else ''}])"
    return text


def _values(array: np.ndarray[Any, Any]) -> str:
    if array.size > _NUMBERS:
        return f"<{array.size} values>"
    return np.array2string(array, separator=", ", max_line_width=1000).replace("\n", "")


def picture(array: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any] | None:
    """The sample as an (H, W) or (H, W, 3) uint8 picture, or None if it is not an image.

    Floats in 0..1 are scaled, other floats are stretched between their extremes; of a sequence the
    first frame is shown.
    """
    if array.size == 0:
        return None
    if layout[:1] in ("F", "D"):
        array, layout = array[0], layout[1:]
    if layout == "CHW":
        array, layout = np.moveaxis(array, 0, -1), "HWC"
    if layout not in ("HWC", "HW") or array.ndim != len(layout):
        return None
    if layout == "HWC":
        if array.shape[2] not in (1, 2, 3, 4):
            return None
        array = array[..., :3] if array.shape[2] >= 3 else array[..., 0]
    return _to_uint8(array)


def _to_uint8(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    if array.dtype == np.uint16:
        low, high = 0.0, 65535.0
    elif low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    scaled = np.nan_to_num((values - low) / max(high - low, 1e-12), posinf=1.0, neginf=0.0)
    return (np.clip(scaled, 0, 1) * 255).round().astype(np.uint8)


def html(tensors: Sequence[Tensor], batch: Batch | None = None) -> str:
    """Thumbnails of the samples that are images, and a caption with shape, dtype and layout."""
    caption = repr(batch) if batch is not None else repr(tensors[0])
    parts = [f"<div><code>{markup.escape(caption)}</code></div>"]
    cells = [cell for tensor in tensors if (cell := _cell(tensor))]
    if cells:
        parts.append(
            "<div style='display:flex;flex-wrap:wrap;gap:8px;margin-top:6px'>"
            + "".join(cells)
            + "</div>"
        )
    if batch is not None and cells and len(batch) > len(tensors):
        parts.append(f"<div>... and {len(batch) - len(tensors)} more</div>")
    return "".join(parts)


def _cell(tensor: Tensor) -> str | None:
    array = picture(np.asarray(tensor), tensor.layout)
    if array is None:
        return None
    image = pil.fromarray(array)
    image.thumbnail((_THUMBNAIL, _THUMBNAIL))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    shape = " x ".join(map(str, tensor.shape))
    name = tensor.source_info().rsplit("/", 1)[-1]
    label = markup.escape(f"{name} {shape}".strip())
    return (
        "<figure style='margin:0;text-align:center;font-size:11px'>"
        f"<img alt='{label}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{label}</figcaption></figure>"
    )
