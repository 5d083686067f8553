"""Promise: a checkpoint goes on with the graph that made it, and with no other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from gradiva import fn
from gradiva.eager.contexts.checkpoint_files import CheckpointError
from tests.capture.pipeline.test_checkpoint import make_graph
from tests.soaking import Figures, scaled

STEPS: dict[str, Callable[[Any], Any]] = {
    "flip": lambda x: fn.flip(x, horizontal=1),
    "flip down": lambda x: fn.flip(x, horizontal=0, vertical=1),
    "twice": lambda x: x * 2,
    "thrice": lambda x: x * 3,
    "two more": lambda x: x + 2,
    "noise": lambda x: x + fn.random.uniform(range=(0.0, 1.0), seed=3),
    "other noise": lambda x: x + fn.random.uniform(range=(0.0, 1.0), seed=4),
}


def changed(steps: list[str], drawn: random.Random) -> list[str]:
    """One step more, less, another, or two that changed places."""
    made, place = [*steps], drawn.randrange(len(steps))
    kind = drawn.choice(("insert", "drop", "replace", "swap", "same"))
    if kind == "insert":
        made.insert(place, drawn.choice([*STEPS]))
    elif kind == "drop":
        del made[place]
    elif kind == "replace":
        made[place] = drawn.choice([*STEPS])
    elif kind == "swap":
        made[place], made[-1] = made[-1], made[place]
    return made


@pytest.mark.full
def test_another_graph(figures: Figures) -> None:
    drawn = random.Random(9)
    refused = taken = 0
    for _ in range(scaled(12)):
        steps = drawn.choices([*STEPS], k=drawn.randint(1, 5))
        pipe = make_graph(*(STEPS[one] for one in steps))(seed=0)
        pipe.run()
        held = pipe.checkpoint()
        wanted = [batch.as_array().tobytes() for batch in pipe.run()]
        pipe.close()
        for _ in range(5):
            others = changed(steps, drawn)
            other = make_graph(*(STEPS[one] for one in others))
            if others == steps:
                again = other(seed=0, checkpoint=held)
                assert [batch.as_array().tobytes() for batch in again.run()] == wanted
                again.close()
                taken += 1
                continue
            with pytest.raises(CheckpointError, match=r"operator|outputs"):
                other(seed=0, checkpoint=held).build()
            refused += 1
    assert min(refused, taken) > 5
    figures(refused=refused, taken=taken)
