"""docs/convert.md: the tables of support are those of the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from building.make_convert_tables import PAGE, RULES, written

pytestmark = pytest.mark.tiny


def test_tables_are_up_to_date() -> None:
    """Run `python -m building.make_convert_tables` after a change of a rule."""
    text = Path(PAGE).read_text("utf-8")
    assert written(text) == text


def test_each_name_is_declared_once() -> None:
    for rules in RULES:
        names = [name for rule in rules for name in rule.names]
        assert len(names) == len(set(names))
