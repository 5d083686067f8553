"""`python -m gradiva warmup`: compile the kernels ahead of time."""

from __future__ import annotations

import time
from typing import Any

from gradiva.eager.jit.jit import compiled_kernels
from gradiva.eager.jit.kernel_cache import cache_folder
from gradiva.eager.operators.operator import OperatorBase, operators
from gradiva.eager.support.lazy_import import lazy_module

tqdm = lazy_module("tqdm", "tqdm")

__all__ = ["run"]


def run() -> int:
    """Run every operator's declared examples, so that their kernels are compiled and kept."""
    started = time.perf_counter()
    examples = [
        (operator, case)
        for _, operator in sorted(operators.items())
        if operator.case_maker is not None
        for case in operator.case_maker()
        if case.raises is None
    ]
    for operator, case in tqdm.tqdm(examples, desc="warming up", unit=" calls"):
        _call(operator, case)
    folder = cache_folder()
    seconds = time.perf_counter() - started
    print(f"{len(compiled_kernels)} kernels compiled in {seconds:.1f} s")
    print(f"kept in {folder}" if folder else "not kept: there is no private folder for them")
    return 0


def _call(operator: OperatorBase, case: Any) -> None:
    operator.bind(case.inputs, dict(case.arguments))
