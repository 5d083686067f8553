"""Receipts of pipelines on a simulated GPU."""

from __future__ import annotations

from typing import Any

import pytest

from gradiva.receipts import Reproducer

from .recipes import colors, device, pipeline
from .shim import COMPILER

cv2: Any = pytest.importorskip("cv2")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="g++ is not there")


def test_receipts_are_those_of_the_cpu() -> None:
    """The outputs are digested in host memory."""
    on_cpu = pipeline(colors, "cpu", with_receipt=True)
    expected = []
    for _ in range(3):
        on_cpu.run()
        expected.append(on_cpu.receipt().batch["outputs"])
    with device():
        pipe, defined = (pipeline(colors, "gpu", with_receipt=True, num_threads=1) for _ in "ab")
        with Reproducer(defined) as again:
            for outputs_of_cpu in expected:
                pipe.run()
                receipt = pipe.receipt()
                assert receipt.batch["outputs"] == outputs_of_cpu
                assert again.reproduce(receipt.line()).reproduced
        pipe.close()
