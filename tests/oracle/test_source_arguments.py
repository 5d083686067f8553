"""Which callables DALI tells what is wanted of them, and which it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.external_source.test_source_arguments import KINDS, not_told, refused, told

from .reference import dali, fn


def seen_there(callables: Any, name: str, kind: str) -> list[Any]:
    seen: list[Any] = []

    def give(*index: Any) -> Any:
        seen.append(type(*index).__name__ if index else "nothing")
        return np.zeros(1, np.uint8) if kind == "SampleInfo" else np.zeros((2, 1), np.uint8)

    pipe = dali.Pipeline(batch_size=2, num_threads=1, device_id=None, prefetch_queue_depth=1)
    with pipe:
        pipe.set_outputs(fn.external_source(callables(give)[name], **KINDS[kind]))
    pipe.build()
    pipe.run()
    return seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", told(print))
def test_told(name: str, kind: str) -> None:
    wanted = {"number": "int"}.get(kind, kind)
    assert set(seen_there(told, name, kind)) == {wanted}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", not_told(print))
def test_not_told(name: str, kind: str) -> None:
    assert set(seen_there(not_told, name, kind)) == {"nothing"}


@pytest.mark.parametrize("name", refused())
def test_refused(name: str) -> None:
    with pytest.raises(TypeError, match="0 or 1 positional"):
        fn.external_source(refused()[name])
