"""MixUp and CutMix, which take labels, too."""

from __future__ import annotations

from typing import Any

from gradiva.convert.core.calls import call

from .values import RULES, Images, refuse, title_of

__all__: list[str] = []


@RULES.rule(
    "MixUp",
    "CutMix",
    calls="`mixup`, `cutmix`",
    exactness="each image draws a share and a partner of its own; in torchvision a batch draws one "
    "share, and partners are neighbors",
)
def _mix(writer: Images, transform: Any) -> None:
    writer.flush()
    refuse(writer.kind == "pil", "it takes tensors, and here the images are of Pillow")
    names = ("images", "labels")
    refuse(writer.outputs not in (("images",), names), "it takes images and labels")
    name = type(transform).__name__.lower()
    line = call(
        f"gradiva.{name}",
        *names,
        alpha=float(transform.alpha),
        num_classes=... if transform.num_classes is None else int(transform.num_classes),
    )
    writer.parameters = names
    writer.step(title_of(transform), f"images, labels = {line}", outputs=names, random=True)
