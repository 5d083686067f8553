"""Promise: nothing in a file is executed: no pickle, no expression, no name of a function."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.capture.serialization.stored import change, text_of
from tests.fuzzing import seeds
from tests.fuzzing.edited_values import places
from tests.fuzzing.parsers import PARSERS, survives
from tests.soaking import Figures, scaled


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = str(canary)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.canary,)


def payloads(canary: Path) -> list[bytes]:
    code = f"__import__('os').mkdir({str(canary)!r})"
    made = [pickle.dumps(Evil(canary), protocol) for protocol in (0, 2, 5)]
    made += [
        code.encode(),
        f"${{{code}}}".encode(),
        f"!!python/object/apply:os.mkdir [{canary}]".encode(),
    ]
    made += [json.dumps({"py/reduce": [{"py/function": "os.mkdir"}, [str(canary)]]}).encode()]
    made += [json.dumps({"$pickle": pickle.dumps(Evil(canary), 0).decode("latin1")}).encode()]
    return made


def in_arrays(canary: Path) -> Iterator[tuple[str, bytes]]:
    """Arrays of objects, and headers that are expressions."""
    stream = io.BytesIO()
    np.save(stream, np.array([Evil(canary)], object), allow_pickle=True)
    yield "npy", stream.getvalue()
    whole = io.BytesIO()
    np.savez(whole, images=np.array([Evil(canary)], object), labels=np.zeros(1))
    yield "npz", whole.getvalue()
    for text in (
        f"__import__('os').mkdir({str(canary)!r})",
        f"{{'descr': os.mkdir({str(canary)!r})}}",
    ):
        head = text.encode().ljust(245) + b"\n"
        yield "npy", b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head


def in_pipelines(canary: Path) -> Iterator[tuple[str, bytes]]:
    """Names of operators, expressions and arguments of a stored pipeline."""
    whole = seeds.pipelines()[0]
    code = f"__import__('os').mkdir({str(canary)!r})"
    names = ("os.mkdir", "builtins.eval", "PythonFunction", "NumbaFunction", code)
    arguments = ("function", "source", "callback", "expression_desc", "dtype", "layout")
    for place in range(5):
        for name in names:

            def rename(message: Any, place: int = place, name: str = name) -> None:
                message.op[place].name = name

            yield "pipeline", change(whole, rename)
        for name in arguments:

            def give(message: Any, place: int = place, name: str = name) -> None:
                text_of(message.op[place], name, code)

            yield "pipeline", change(whole, give)


@pytest.mark.full
def test_nothing_is_executed(tmp_path: Path, figures: Figures) -> None:
    canary = tmp_path / "canary"
    pickle.loads(payloads(canary)[0])
    assert canary.exists()  # so they would be found out
    canary.rmdir()
    drawn = random.Random(4)
    tried = 0
    given = [*in_arrays(canary), *in_pipelines(canary)]
    for name, parser in PARSERS.items():
        begun = parser.seeds()
        for payload in payloads(canary):
            given.append((name, payload))
            for _ in range(scaled(1)):
                seed = drawn.choice(begun)
                place = drawn.randrange(len(seed) + 1)
                given.append((name, seed[:place] + payload + seed[place:]))
    for name, data in given:
        survives(PARSERS[name], data)
        tried += 1
        assert not canary.exists(), (name, data)
    figures(payloads=tried)


@pytest.mark.full
def test_values_in_json(tmp_path: Path, figures: Figures) -> None:
    """In the place of each value of annotations, and of a checkpoint."""
    canary = tmp_path / "canary"
    texts = [one.decode("latin1") for one in payloads(canary)]
    tried = 0
    for whole, name in ((seeds.coco(), "coco"), (seeds.state(), "checkpoint")):
        for path in list(places(whole))[:: max(1, round(3 / scaled(1)))]:
            for text in texts:
                content = json.loads(json.dumps(whole))
                inner = content
                for key in path[:-1]:
                    inner = inner[key]
                inner[path[-1]] = json.loads(text) if text.startswith("{") else text
                survives(PARSERS[name], seeds.as_json(content))
                tried += 1
    assert not canary.exists()
    assert tried > 50
    figures(payloads=tried)
