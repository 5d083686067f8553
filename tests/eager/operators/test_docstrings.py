"""The documentation of operators: sections that fit the signatures."""

from __future__ import annotations

import inspect
from collections import Counter

import pytest

from docs.site.docstrings import is_google, parse
from docs.site.registry import known
from gradiva.eager.operators.docstrings import merge_docstrings, sections, with_common
from gradiva.eager.operators.signature import explained
from gradiva.eager.support.errors import OperatorValueError

pytestmark = pytest.mark.tiny

OURS = {
    name: operator for name, operator in known().items() if operator.__module__[:8] == "gradiva."
}


@pytest.mark.parametrize("name", OURS)
def test_sections(name: str) -> None:
    """They name exactly the arguments of the signature, each once. There is a result, and an error
    with its reason."""
    operator = OURS[name]
    text = operator.__doc__ or ""
    assert is_google(text)
    said = parse(text)
    assert said.summary.endswith(".")
    assert "\n" not in said.summary, "the summary is one line"
    shown = [*operator.__signature__.parameters]
    assert sorted(said.named) == sorted(shown)
    assert [key for key, count in Counter(said.named).items() if count > 1] == []
    assert set(said.common) == operator.shown_common
    assert [names for names, text in said.args if not text.strip(" .")] == []
    assert said.returns
    assert said.raises
    for error, reason in said.raises:
        assert error.endswith("Error")
        assert reason.strip(" .")


def test_the_seed_is_shown_where_something_is_drawn() -> None:
    """Others take it, with a warning, for scripts that give it to all operators."""
    for operator in OURS.values():
        draws = operator.random or operator.name.startswith(("readers.", "experimental.readers."))
        assert ("seed" in operator.__signature__.parameters) == draws
        assert ("rng" in operator.__signature__.parameters) == operator.random


def test_common_arguments_are_explained_once() -> None:
    own = """Do it.

    Args:
        input: what is done.
    """
    text = with_common(own, explained(["device", "name", "preserve"]))
    assert text is not None
    head, _, common = text.partition("\n\nArguments of all operators:\n")
    assert head == inspect.cleandoc(own)
    assert [line.split(":")[0] for line in common.splitlines() if line[4] != " "] == [
        "    device",
        "    name",
        "    preserve",
    ]
    assert with_common(own, []) == own
    assert with_common(None, explained(["name"])) is None


BAD = {
    "outside of the section": """Do it.

        Args:
            input: what is done; see
        the guide.
        """,
    "continued too far left": """Do it.

        Args:
            on_error: the policy; see
            `docs/errors.md`.
                "raise" fails the batch.
        """,
    "continued between": """Do it.

        Args:
            input: what is done; see
              the guide.
        """,
    "an error without a reason": """Do it.

        Raises:
            for other dtypes.
        """,
    "an entry too far right": """Do it.

        Args:
                input: what is done.
        """,
    "an example outside": """Do it.

        Example:
        do_it(images)
        """,
    "text after the last section": """Do it.

        Returns:
            Samples.

        And this is told last.
        """,
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_line_with_another_indentation_is_refused(text: str) -> None:
    for read in (sections, parse, lambda text: merge_docstrings(text, [], [])):
        with pytest.raises(OperatorValueError, match="indentation"):
            read(text)


def test_what_is_indented_as_it_must_be() -> None:
    text = """
    Args:
        first, second,
            third: names go on; text,
            too:

                even in columns.
        *more: several.

    Raises:
        OperatorTypeError or OperatorValueError: for others.

    Example:
        for batch in reader:
            show(batch)
    """
    assert parse(text).named == ["first", "second", "third", "more"]
    assert parse(text).example == "for batch in reader:\n    show(batch)"
    assert [error for error, _ in parse(text).raises] == ["OperatorTypeError or OperatorValueError"]
