"""`Receipt`: what a batch was made from, as 32 bytes and as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, Final, TypeVar

from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError, describe

__all__ = ["Receipt", "ReceiptError", "WithReceipt", "canonical_json"]

T = TypeVar("T")

_FORMAT: Final = "gradiva_receipt"
_VERSION: Final = 1
_KINDS: Final = {"graph": dict, "seed": int, "samples": int, "sources": list, "outputs": list}
_KINDS.update(data=str, hash=str)


class ReceiptError(OperatorValueError):
    """What is no receipt: it is truncated, or something else."""


def canonical_json(value: Any) -> bytes:
    """The form of plain data that digests are made of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Receipt(bytes):
    """32 bytes that are the same for the same batch made from the same inputs, on any machine: a
    SHA-256 of the graph with its constant arguments, the seed, the positions and identities of the
    samples, and the digests of the outputs. `line()` says all of that as JSON.

    batch: what the digest covers, as plain data. made_by: what it does not cover: versions, and the
    number of the batch in its run.
    """

    batch: Mapping[str, Any]
    made_by: Mapping[str, Any]
    edited: bool
    """Whether the line that it was read from was changed after it was written."""

    @staticmethod
    def of(batch: Mapping[str, Any], made_by: Mapping[str, Any], graph: str = "") -> Receipt:
        """The receipt of these facts. graph: the digest of `batch["graph"]`, if it is known."""
        said = {**batch, "graph": graph or graph_digest(batch["graph"])}
        made = Receipt(sha256(canonical_json(said)).digest())
        made.batch, made.made_by, made.edited = batch, made_by, False
        return made

    def line(self) -> str:
        """The receipt as JSON, in one line without an end of line."""
        said = {"digest": self.hex(), **self.batch, "made_by": self.made_by}
        return json.dumps({_FORMAT: _VERSION, "check": _check(said), **said})

    @staticmethod
    def read(line: str | bytes) -> Receipt:
        """The receipt that `line` has written. Raises ReceiptError (a ValueError) for what is none,
        and OperatorTypeError for what is no text."""
        if not isinstance(line, str | bytes):
            raise OperatorTypeError(
                argument="receipt", expected="a line of JSON", got=describe(line)
            )
        try:
            text = line.decode("utf-8") if isinstance(line, bytes) else line
            said = json.loads(text)
        except (ValueError, RecursionError) as error:
            cut = "it is truncated, or " if text_begins(line) else ""
            raise ReceiptError(f"this is no receipt: {cut}it is no JSON ({error})") from None
        if not isinstance(said, dict) or _FORMAT not in said:
            raise ReceiptError("this is no receipt: it is other JSON")
        version = said.pop(_FORMAT)
        if version != _VERSION:
            raise ReceiptError(
                "the receipt has another format", expected=f"version {_VERSION}", got=repr(version)
            )
        check, digest, made_by = (said.pop(name, None) for name in ("check", "digest", "made_by"))
        for name, kind in _KINDS.items():
            value = said.get(name)
            far = isinstance(value, int) and not 0 <= value < 1 << 64
            if type(value) is not kind or far:
                raise ReceiptError(f"the receipt has no `{name}` that makes sense")
        if not isinstance(made_by, dict) or not isinstance(digest, str):
            raise ReceiptError("the receipt has no `made_by` or no `digest` that makes sense")
        made = Receipt.of(said, made_by)
        whole = {"digest": digest, **said, "made_by": made_by}
        made.edited = made.hex() != digest or _check(whole) != check
        return made

    def __repr__(self) -> str:
        return f"<Receipt {self.hex()[:16]}..., {self.batch['samples']} samples>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Receipt.of, (self.batch, self.made_by)


class WithReceipt(tuple[T, ...]):
    """The outputs of a batch, with its receipt."""

    receipt: Receipt

    @staticmethod
    def of(outputs: Iterable[T], receipt: Receipt) -> WithReceipt[T]:
        made = WithReceipt(outputs)
        made.receipt = receipt
        return made


def graph_digest(graph: Any) -> str:
    """The digest of the fingerprint of a graph."""
    return sha256(canonical_json(graph)).hexdigest()


def text_begins(line: str | bytes) -> bool:
    """Whether a text begins as a receipt does."""
    head = line[:40].decode("utf-8", "replace") if isinstance(line, bytes) else line[:40]
    return head.lstrip().startswith("{") and _FORMAT in head


def _check(said: Mapping[str, Any]) -> str:
    """What tells that a line was changed."""
    return sha256(canonical_json(said)).hexdigest()[:16]
