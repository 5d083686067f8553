"""Drawn inputs and arguments against DALI, operator by operator: see `lines.py`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradiva import GradivaError
from gradiva.eager.operators.operator import operators

from .lines import LINES
from .reference import REFUSALS, assert_close, reference


@pytest.mark.parametrize("name", LINES)
@settings(max_examples=20, derandomize=True, deadline=None)
@given(data=st.data())
def test_drawn(name: str, data: st.DataObject) -> None:
    line = LINES[name]
    inputs, arguments = data.draw(line.inputs), data.draw(line.arguments)
    operator: Any = operators[name]
    try:
        expected = reference(name, inputs, outputs=line.outputs, named=arguments)
    except REFUSALS:
        assert line.refusals
        with pytest.raises(GradivaError):
            operator(*inputs, **arguments)
        return
    results = operator(*inputs, **arguments)
    exact = line.exact(arguments) if callable(line.exact) else line.exact
    if line.outputs == 1:
        results, expected = (results,), (expected,)
    for ours, theirs in zip(results, expected, strict=True):
        assert_close(ours, theirs, exact=exact, layout=line.layout)
