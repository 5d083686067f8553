"""Which streams and which concurrency a stored pipeline asks for."""

from __future__ import annotations

from typing import Any

import pytest

from gradiva import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def, types
from gradiva.capture.serialization.reader import read_pipeline

POLICIES = {None: 0, "single": 16, "per_backend": 32, "per_operator": 48, "unspecified": 0}
CONCURRENCIES = {None: 4, "none": 2, "backend": 4, "full": 6, "unspecified": 4}


@pipeline_def(batch_size=1, num_threads=1)
def number() -> Any:
    return types.Constant(3)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("concurrency", CONCURRENCIES)
@pytest.mark.parametrize("affinity", [False, True])
def test_they_are_kept(policy: Any, concurrency: Any, affinity: bool) -> None:
    pipe: Any = number(stream_policy=policy, concurrency=concurrency, set_affinity=affinity)
    stored = pipe.serialize()
    again = Pipeline.deserialize(stored)
    named = (None, "unspecified")
    assert again.stream_policy == (None if policy in named else StreamPolicy(policy))
    wanted = "backend" if concurrency in named else concurrency
    assert again.concurrency == OperatorConcurrency(wanted)
    assert again.set_affinity is affinity
    assert again.serialize() == stored


def test_an_argument_wins() -> None:
    stored = number(stream_policy="single").serialize()
    again = Pipeline.deserialize(stored, stream_policy="per_operator")
    assert again.stream_policy is StreamPolicy.PER_OPERATOR


@pytest.mark.oracle
@pytest.mark.parametrize("policy", [name for name in POLICIES if name])
@pytest.mark.parametrize("concurrency", [name for name in CONCURRENCIES if name])
def test_both_libraries_read_the_other(policy: str, concurrency: str) -> None:
    dali = pytest.importorskip("nvidia.dali")
    pipe: Any = number(stream_policy=policy, concurrency=concurrency)
    theirs = dali.Pipeline.deserialize(pipe.serialize())
    wanted = "backend" if concurrency == "unspecified" else concurrency
    assert theirs.stream_policy.name == policy.upper()
    assert theirs.concurrency.name == wanted.upper()
    options_of = {"stream_policy": theirs.stream_policy, "concurrency": theirs.concurrency}
    made = dali.pipeline_def(batch_size=1, num_threads=1, device_id=None, **options_of)(
        lambda: dali.types.Constant(3, device="cpu")
    )
    options = read_pipeline(made().serialize()).options
    assert options.concurrency == OperatorConcurrency(wanted)
    assert options.stream_policy == (None if policy == "unspecified" else StreamPolicy(policy))
