"""The documentation of operators: sections that fit the signatures."""

from __future__ import annotations

from collections import Counter

import pytest

from docs.site.docstrings import is_google, parse
from docs.site.registry import known
from tests.tiers import few

pytestmark = pytest.mark.tiny

OURS = {
    name: operator for name, operator in known().items() if operator.__module__[:8] == "gradiva."
}


@pytest.mark.parametrize("name", few(OURS, every=8))
def test_sections(name: str) -> None:
    """They name exactly the arguments of the signature, each once; those that all operators take
    may be left out. There is a result, and an error with its reason."""
    operator = OURS[name]
    text = operator.__doc__ or ""
    assert is_google(text)
    said = parse(text)
    assert said.summary
    own = [key for key in operator.__signature__.parameters if key not in operator.common]
    assert [key for key in own if key not in said.named] == []
    assert set(said.named) <= set(own) | operator.common
    assert [key for key, count in Counter(said.named).items() if count > 1] == []
    assert [names for names, text in said.args if not text.strip(" .")] == []
    assert said.returns
    assert said.raises
    for error, reason in said.raises:
        assert error.endswith("Error")
        assert reason.strip(" .")
