"""What goes wrong in captured loops, as in `error_steps`."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradiva
from gradiva import readers
from tests.eager.execution.error_steps import POLICIES, SIZE, Files, Step, each, mine, named
from tests.garbage import Watch, fails

__all__ = ["LOOPS"]


def looped(policy: Any, kind: str, files: Files, watch: Watch) -> None:
    """A captured loop that goes on after each error, to its end; then another one."""
    reader = watch(readers.File(files=2 * getattr(files, kind), on_error=policy))
    for _ in range(2):
        loop = watch(reader.next_epoch(batch_size=SIZE, capture=True))
        failed = 0
        while True:
            try:
                encoded = watch(next(loop)[0])
                made = watch(gradiva.decoders.image(encoded, on_error=policy))
                watch(gradiva.resize(made, size=(80, 80)))
            except gradiva.GradivaError:
                failed += 1
            except StopIteration:
                break
        assert failed == 2 * (policy == "raise" and kind != "good")


def loop_left(files: Files, watch: Watch) -> None:
    """An error of the user's ends a captured loop."""

    def epoch() -> None:
        loop = watch(readers.File(files=files.good)).next_epoch(batch_size=2, capture=True)
        for number, (encoded, _) in enumerate(watch(loop)):
            watch(gradiva.decoders.image(watch(encoded)))
            if number == 2:
                mine()

    fails(KeyError, epoch)


def source_raises_in_loop(files: Files, watch: Watch) -> None:
    def items() -> Any:
        for _ in range(4):
            yield watch(np.zeros((SIZE, 90, 90, 3), np.uint8))
        mine()

    def epoch() -> None:
        source = watch(gradiva.ExternalSource(items))
        for made in watch(source.captured(SIZE)):
            watch(gradiva.flip(watch(made)))

    fails(gradiva.OperatorRuntimeError, epoch)


LOOPS: dict[str, Step] = {
    **each(looped, *(f"{policy} cut" for policy in POLICIES)),
    **each(looped, *(f"{policy} missing" for policy in POLICIES)),
    **each(looped, "raise good"),
    **named(loop_left, source_raises_in_loop),
}
