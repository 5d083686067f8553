"""What an external source is told: which callables want an argument, and which are refused.

`tests/oracle/test_source_arguments.py` asks DALI about the same callables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradiva import ExternalSource, OperatorTypeError, fn, pipeline_def, types

Give = Callable[..., Any]


def _decorated(function: Any) -> Any:
    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return wrapped


def told(give: Give) -> dict[str, Any]:
    """Callables that are told which batch or sample; each hands on to `give` what it is told."""

    class Methods:
        def plain(self, index: Any) -> Any:
            return give(index)

        def default(self, index: Any = None) -> Any:
            return give(index)

        @staticmethod
        def static(index: Any = None) -> Any:
            return give(index)

        @classmethod
        def of_class(cls, index: Any = None) -> Any:
            return give(index)

        def __call__(self, index: Any = None) -> Any:
            return give(index)

    class StaticCall:
        @staticmethod
        def __call__(index: Any) -> Any:
            return give(index)

    class ClassCall:
        @classmethod
        def __call__(cls, index: Any) -> Any:
            return give(index)

    def plain(index: Any) -> Any:
        return give(index)

    def positional_only(index: Any = None, /) -> Any:
        return give(index)

    def default(index: Any = 0) -> Any:
        return give(index)

    made = Methods()
    return {
        "function": plain,
        "default": default,
        "lambda, default": lambda index=3: give(index),
        "positional only": positional_only,
        "method": made.plain,
        "method, default": made.default,
        "static method": made.static,
        "of the class": Methods.static,
        "class method": Methods.of_class,
        "object": made,
        "static call": StaticCall(),
        "class call": ClassCall(),
        "__call__": made.__call__,
        "decorated": _decorated(plain),
        "decorated, default": _decorated(default),
    }


def told_here(give: Give) -> dict[str, Any]:
    """The same for callables that DALI refuses, or cannot count."""

    def plain(index: Any) -> Any:
        return give(index)

    def two(first: Any, second: Any) -> Any:
        return give(first if second == 5 else second)

    return {
        "partial": functools.partial(plain),
        "partial, one bound": functools.partial(two, 6),
        "partial, one bound by name": functools.partial(two, second=5),
        "partial of a method": functools.partial(told(give)["method"]),
        "cached": functools.lru_cache(plain),
    }


def not_told(give: Give) -> dict[str, Any]:
    """Callables that are told nothing."""

    class Methods:
        def plain(self) -> Any:
            return give()

        @staticmethod
        def static() -> Any:
            return give()

        def __call__(self) -> Any:
            return give()

    class Iterable:
        def __iter__(self) -> Iterator[Any]:
            return iter([give() for _ in range(8)])

        def __call__(self, index: Any) -> Any:
            raise AssertionError("it is iterated over")

    class Sequence:
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            if index >= 8:
                raise IndexError
            return give()

        def __call__(self, index: Any) -> Any:
            raise AssertionError("it is iterated over")

    class Generator:
        def __call__(self) -> Iterator[Any]:
            for _ in range(8):
                yield give()

    def plain() -> Any:
        return give()

    made = Methods()
    return {
        "function": plain,
        "method": made.plain,
        "static method": made.static,
        "object": made,
        "decorated": _decorated(plain),
        "iterable": Iterable(),
        "sequence": Sequence(),
        "object of a generator": Generator(),
        "partial of a generator": functools.partial(Generator.__call__, Generator()),
    }


def refused() -> dict[str, Any]:
    """Callables of which it cannot be known what they want."""

    class Call:
        def __call__(self, *rest: Any) -> Any: ...

    class Method:
        def two(self, index: Any, other: Any = 3) -> Any: ...

    return {
        "*rest": lambda *rest: 0,
        "**named": lambda **named: 0,
        "*rest and **named": lambda *rest, **named: 0,
        "one and *rest": lambda index, *rest: 0,
        "one and **named": lambda index, **named: 0,
        "keyword only": lambda *, key=1: 0,
        "one and a keyword": lambda index, *, key=1: 0,
        "two": lambda index, other: 0,
        "two, one with a default": lambda index, other=1: 0,
        "two with defaults": lambda index=1, other=1: 0,
        "object": Call(),
        "method": Method().two,
    }


KINDS: dict[str, dict[str, Any]] = {
    "number": {},
    "BatchInfo": {"batch_info": True},
    "SampleInfo": {"batch": False},
}


def seen_by(callables: Callable[[Give], dict[str, Any]], name: str, kind: str) -> list[Any]:
    """What a callable of these names is given by a pipeline of two batches of two samples."""
    seen: list[Any] = []

    def give(*index: Any) -> Any:
        seen.append(*index or ["nothing"])
        return np.zeros(1, np.uint8) if kind == "SampleInfo" else np.zeros((2, 1), np.uint8)

    @pipeline_def(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
    def program() -> Any:
        return fn.external_source(callables(give)[name], **KINDS[kind])

    with program() as pipe:
        for _ in range(2):
            pipe.run()
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*told(print), *told_here(print)])
def test_told(name: str, kind: str) -> None:
    seen = seen_by(lambda give: {**told(give), **told_here(give)}, name, kind)
    if kind == "number":
        assert seen[:2] == [0, 1]
    elif kind == "BatchInfo":
        assert seen[:2] == [types.BatchInfo(0, 0), types.BatchInfo(1, 0)]
    else:
        places = [(0, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)]
        assert seen[:4] == [types.SampleInfo(*place, 0) for place in places]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", not_told(print))
def test_not_told(name: str, kind: str) -> None:
    assert set(seen_by(not_told, name, kind)) == {"nothing"}


@pytest.mark.parametrize("name", refused())
def test_refused(name: str) -> None:
    with_source = pipeline_def(batch_size=1)(lambda: fn.external_source(refused()[name]))
    with pytest.raises(OperatorTypeError, match=r"`source`.*0 or 1 positional param") as error:
        with_source()
    assert error.value.location is not None  # where it is declared, not where it runs
    with pytest.raises(OperatorTypeError, match="0 or 1 positional parameters"):
        ExternalSource(refused()[name])


def test_an_object_with_an_argument_is_told_in_dynamic_mode() -> None:
    source = ExternalSource(told(lambda index: np.array([index]))["default"])
    assert [int(source().item()) for _ in range(3)] == [0, 1, 2]


def test_neither() -> None:
    class Nothing:
        __iter__ = None

    for source in (3, Nothing()):
        with pytest.raises(OperatorTypeError, match="a callable or an iterable"):
            ExternalSource(source)
