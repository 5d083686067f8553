"""Receipts: what a batch was made from, and that batch made again (docs/receipts.md).

`pipeline_def(with_receipt=True)` makes a receipt of each batch, `pipe.receipt()` returns it, and
`reproduce` makes the batch again, on any machine, or says which input has changed.
"""

from gradiva.capture.receipts.comparison import Finding
from gradiva.capture.receipts.receipt import Receipt, ReceiptError

from .reproducer import Reproducer, Reproduction, reproduce

__all__ = ["Finding", "Receipt", "ReceiptError", "Reproducer", "Reproduction", "reproduce"]
