"""The documentation of operators: sections that fit the signatures.

Until the last docstring has sections (`Args:`, `Returns:`, `Raises:`), none of them need have any.
"""

from __future__ import annotations

from collections import Counter

import pytest

from docs.site.docstrings import is_google, parse
from docs.site.registry import known

pytestmark = pytest.mark.tiny

OURS = {
    name: operator for name, operator in known().items() if operator.__module__[:8] == "gradiva."
}
GOOGLE = {name for name, operator in OURS.items() if is_google(operator.__doc__ or "")}


def test_all_have_sections_or_none() -> None:
    assert GOOGLE in (set(), OURS.keys()), sorted(OURS.keys() - GOOGLE)


@pytest.mark.parametrize("name", OURS)
def test_sections(name: str) -> None:
    """They name exactly the arguments of the signature, each once; those that all operators take
    may be left out. There is a result, and an error with its reason."""
    operator = OURS[name]
    said = parse(operator.__doc__ or "", operator.__signature__.parameters)
    assert said.summary
    if name not in GOOGLE:
        return
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
