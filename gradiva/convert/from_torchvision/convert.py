"""`gradiva.convert.torchvision`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradiva.convert.core.converted import Converted, converted
from gradiva.convert.core.writer import NoCounterpartError
from gradiva.eager.support.errors import OperatorValueError, user_location

from . import dtypes
from .values import RULES, Images, originals, title_of

__all__ = ["torchvision"]

_DECLARED = (dtypes,)


def torchvision(
    transform: Any, *, backend: str | None = None, decode: bool = False, fallback: str | None = None
) -> Converted:
    """Convert."""
    if backend not in (None, "pil", "tensor"):
        raise OperatorValueError(
            operator="convert.torchvision",
            argument="backend",
            expected='None, "pil" or "tensor"',
            got=repr(backend),
            location=user_location(),
        )
    kind = backend or "pil"
    writer = Images(fallback, kind)
    for one in _each(transform):
        write(writer, one)
    writer.finish()
    return converted(
        f"torchvision's {title_of(transform)}", writer, originals(transform, kind), decode
    )


def write(writer: Images, transform: Any) -> None:
    name = type(transform).__name__
    if not type(transform).__module__.startswith("torchvision.transforms"):
        name = f"{type(transform).__module__}.{name}"
    try:
        RULES.write(writer, name, transform)
    except NoCounterpartError as reason:
        writer.without_counterpart(title_of(transform), str(reason))


def _each(transform: Any) -> Iterator[Any]:
    if type(transform).__name__ == "Compose":
        for one in transform.transforms:
            yield from _each(one)
    else:
        yield transform
