"""Standards of color that videos may be taken to follow."""

from __future__ import annotations

from typing import Final

from gradiva.eager import extension as op

__all__ = ["COLORSPACES", "check_colorspace"]

COLORSPACES: Final = ("bt601", "bt709", "bt2020")


def check_colorspace(name: str | None) -> None:
    """Raise OperatorValueError for a name that is none."""
    if name is not None and name not in COLORSPACES:
        raise op.wrong_value("colorspace", "one of " + ", ".join(map(repr, COLORSPACES)), name)
