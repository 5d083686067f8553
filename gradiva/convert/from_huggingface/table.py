"""The table of support in docs/convert.md."""

from __future__ import annotations

from .processors import PROCESSORS, Processor

__all__ = ["TABLE", "Table"]

_STEPS = {
    "plain": "`resize`, `rescale_normalize`, `transpose`",
    "llava": "`resize`, `crop`, `rescale_normalize`, `transpose`; not with `do_pad`",
    "convnext": "`resize`, `crop`, `rescale_normalize`, `transpose`",
    "dinov3": "`rescale_normalize`, `resize` of floats (within 5e-6), `transpose`",
    "detr": "`resize`, `rescale_normalize`, `transpose`, `pad`; `pixel_mask`",
    "qwen2_vl": "`smart_resize`, `rescale_normalize`, `patches`",
}
"""What processors of a family become."""
_CROPPING = "`resize`, `crop`, `rescale_normalize`, `transpose`"


class Table:
    """All processors, in Markdown."""

    head = "| image processor | models, by `model_type` | gradiva |\n|---|---|---|\n"

    def table(self) -> str:
        """The table, with its head."""
        return self.head + "".join(map(_line, PROCESSORS.values()))


def _line(processor: Processor) -> str:
    steps = _STEPS[processor.family]
    if processor.family == "plain" and processor.settings["do_center_crop"]:
        steps = _CROPPING
    models = ", ".join(f"`{model}`" for model in processor.models)
    return f"| `{processor.name}` | {models} | {steps} |\n"


TABLE = Table()
