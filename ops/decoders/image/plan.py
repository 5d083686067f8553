"""What the shape rules of the image decoders find in the headers of files."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradiva.eager import extension as op
from gradiva.ops.decoders.formats.image_info import ImageInfo, Window


@dataclass(frozen=True)
class DecodePlan(op.Plan):
    """infos: what the headers say; windows: (top, left, height, width) of what is decoded of each
    upright image, None for whole images; colors: what `direct_colors` has found, once it was
    asked."""

    infos: list[ImageInfo]
    windows: list[Window] | None = None
    colors: list[str | None] = field(default_factory=list)

    @classmethod
    def of(cls, call: op.Call) -> DecodePlan:
        """The plan of a call, after its shape rule."""
        assert isinstance(call.plan, cls)
        return call.plan
