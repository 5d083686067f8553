"""What the tests of stored pipelines share: small pipelines, and changes of what was stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradiva import Pipeline, batch, fn
from gradiva.capture.serialization.proto import pack, parse
from gradiva.capture.serialization.reader import StoredPipeline

__all__ = ["again", "body", "change", "feed", "pipeline", "text_of"]


def feed(name: str = "x", **more: Any) -> Any:
    images = batch(
        [np.arange(60, dtype=np.uint8).reshape(4, 5, 3), np.full((6, 2, 3), 9, np.uint8)]
    )
    return fn.external_source(lambda: images, name=name, layout="HWC", **more)


def pipeline(build: Callable[[], Any], **options: Any) -> Pipeline:
    pipe = Pipeline(**{"batch_size": 2, "num_threads": 1, **options})
    with pipe:
        outputs = build()
        pipe.set_outputs(*outputs if isinstance(outputs, list | tuple) else (outputs,))
    return pipe


def again(stored: StoredPipeline, sources: dict[str, Any] | None = None) -> Pipeline:
    return pipeline(lambda: stored.record(sources))


def body(pipe: Pipeline) -> str:
    return str(pipe.graph).split("{", 1)[1]


def change(data: bytes, edit: Callable[[Any], Any]) -> bytes:
    """The bytes of a pipeline, with its message edited."""
    message = parse(data)
    edit(message)
    return pack(message)


def text_of(operator: Any, name: str, value: Any) -> None:
    """Give an argument of a stored operator another value, or add it."""
    for argument in operator.args:
        if argument.name == name:
            operator.args.remove(argument)
            break
    argument = operator.args.add(name=name, is_vector=isinstance(value, list))
    fields = {str: "strings", int: "ints", float: "floats", list: "ints"}
    getattr(argument, fields[type(value)]).extend(value if isinstance(value, list) else [value])
