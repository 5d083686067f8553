"""What a user says of receipts: whether there are any, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe

from .digests import HASHES, hash_of

__all__ = ["ReceiptOptions"]

_DATA = ("contents", "stat")
_EXPECTED = "True, False, or a dict with `data` and `hash`"


class ReceiptOptions(NamedTuple):
    """data: what identifies a sample, "contents" (a digest of what its reader delivers) or "stat"
    (the name, size and time of modification of its file). hash: the function that makes digests."""

    data: str = "contents"
    hash: str = "sha256"

    @staticmethod
    def checked(given: Any) -> ReceiptOptions | None:
        """The options, from what a user gave for `with_receipt`; None for no receipts. Raises
        OperatorTypeError or OperatorValueError."""
        if given is None or given is False:
            return None
        if given is True:
            return ReceiptOptions()
        if not isinstance(given, Mapping):
            raise OperatorTypeError(
                argument="with_receipt", expected=_EXPECTED, got=describe(given)
            )
        unknown = [name for name in given if name not in ReceiptOptions._fields]
        if unknown:
            raise OperatorValueError(
                argument="with_receipt", expected=_EXPECTED, got=f"{unknown[0]!r} in the dict"
            )
        made = ReceiptOptions(**given)
        for name, value, allowed in (("data", made.data, _DATA), ("hash", made.hash, HASHES)):
            if not isinstance(value, str) or value not in allowed:
                raise OperatorValueError(
                    argument=f"with_receipt[{name!r}]",
                    expected=f"one of {', '.join(map(repr, allowed))}",
                    got=describe(value),
                )
        hash_of(made.hash)
        return made
