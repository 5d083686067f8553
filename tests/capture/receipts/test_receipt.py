"""`Receipt`: 32 bytes and a line of JSON, and what is refused."""

from __future__ import annotations

import json
import pickle
from hashlib import sha256
from typing import Any

import pytest

from gradiva.capture.receipts.options import ReceiptOptions
from gradiva.capture.receipts.receipt import Receipt, ReceiptError
from gradiva.eager.support.errors import OperatorTypeError, OperatorValueError

pytestmark = [pytest.mark.tiny, pytest.mark.core]

BATCH: dict[str, Any] = {
    "graph": {"operators": [], "outputs": []},
    "seed": 7,
    "epoch": 0,
    "samples": 2,
    "sources": [],
    "data": "contents",
    "hash": "sha256",
    "outputs": [],
}
MADE_BY = {"gradiva": "0.1.0", "batch": 3}


def test_a_receipt_is_a_sha256_of_what_decides() -> None:
    receipt = Receipt.of(BATCH, MADE_BY)
    graph = sha256(b'{"operators":[],"outputs":[]}').hexdigest()
    text = json.dumps({**BATCH, "graph": graph}, sort_keys=True, separators=(",", ":"))
    assert len(receipt) == 32
    assert bytes(receipt) == sha256(text.encode()).digest()
    assert Receipt.of(BATCH, {**MADE_BY, "gradiva": "0.2.0"}) == receipt
    assert Receipt.of({**BATCH, "seed": 8}, MADE_BY) != receipt


def test_a_line_is_read_back() -> None:
    receipt = Receipt.of(BATCH, MADE_BY)
    line = receipt.line()
    assert "\n" not in line
    assert json.loads(line)["digest"] == receipt.hex()
    for given in (line, line.encode(), f"  {line}\n"):
        again = Receipt.read(given)
        assert again == receipt
        assert (again.line(), again.edited) == (line, False)
    assert pickle.loads(pickle.dumps(receipt)).line() == line


@pytest.mark.parametrize("name", ["seed", "samples", "made_by", "digest", "check"])
def test_edited_lines_are_noticed(name: str) -> None:
    said = json.loads(Receipt.of(BATCH, MADE_BY).line())
    said[name] = {"made_by": {}, "digest": "00", "check": "00"}.get(name, 9)
    assert Receipt.read(json.dumps(said)).edited


def test_what_is_no_receipt() -> None:
    line = Receipt.of(BATCH, MADE_BY).line()
    for length in range(len(line)):
        with pytest.raises(ReceiptError, match="truncated" if length > 20 else "no receipt"):
            Receipt.read(line[:length])
    for text in ("[]", "{}", "1", "null", "[" * 99_999, b"\xff\xfe"):
        with pytest.raises(ReceiptError, match="this is no receipt"):
            Receipt.read(text)
    said = json.loads(line)
    for name in ("graph", "seed", "samples", "sources", "data", "hash", "outputs"):
        with pytest.raises(ReceiptError, match=f"no `{name}`"):
            Receipt.read(json.dumps({**said, name: None}))
    with pytest.raises(ReceiptError, match="another format"):
        Receipt.read(json.dumps({**said, "gradiva_receipt": 2}))
    with pytest.raises(OperatorTypeError, match="a line of JSON"):
        Receipt.read(3)  # type: ignore[arg-type]


def test_options() -> None:
    assert ReceiptOptions.checked(None) is None
    assert ReceiptOptions.checked(False) is None
    assert ReceiptOptions.checked(True) == ("contents", "sha256")
    assert ReceiptOptions.checked({"data": "stat"}) == ("stat", "sha256")
    for given, text in (
        ({"data": "times"}, "'contents', 'stat'"),
        ({"hash": "md5"}, "'sha256', 'xxh3_128'"),
        ({"hash": ["sha256"]}, "'sha256', 'xxh3_128'"),
        ({"digest": "sha256"}, "'digest' in the dict"),
    ):
        with pytest.raises(OperatorValueError, match=text):
            ReceiptOptions.checked(given)
    for other in (1, "contents", ["stat"]):
        with pytest.raises(OperatorTypeError, match="True, False, or a dict"):
            ReceiptOptions.checked(other)
