"""What users do that goes wrong, in dynamic mode: each a function that makes everything it needs,
catches the error and keeps nothing. Not a test itself.

Each is called with the files to read and a `Watch`, which is given what must be gone afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import gradiva
from gradiva import EvalMode, capture, readers
from gradiva.plugin.numba.fn import numba_function
from tests.garbage import Watch, fails

__all__ = ["FINE", "STEPS", "Files", "Stateless", "Step", "make_files", "mine"]

SIZE = 4
POLICIES = ("raise", "skip", "replace")
WRONG: dict[str, Any] = {"sizes": (80, 80)}
"""An argument that is misspelled."""


class Files(NamedTuple):
    """Lists of paths: all are good; one is cut, one is text; one is missing."""

    good: list[str]
    cut: list[str]
    text: list[str]
    missing: list[str]


Step = Callable[[Files, Watch], None]


def make_files(folder: Path) -> Files:
    """Photographs of noise, large enough for memory of the pool."""
    noise = np.random.default_rng(5)
    good = []
    for index in range(2 * SIZE):
        path = folder / f"{index}.jpg"
        pixels = noise.integers(0, 255, (90 + index, 120 - index, 3), np.uint8)
        Image.fromarray(pixels).save(path)
        good.append(str(path))
    cut, text, missing = folder / "cut.jpg", folder / "text.jpg", folder / "missing.jpg"
    cut.write_bytes(Path(good[1]).read_bytes()[:4000])
    text.write_text("this is no picture" * 1000)
    first, rest = good[:1], good[2:]
    return Files(good, *([*first, str(path), *rest] for path in (cut, text, missing)))


def mine(_: Any = None) -> Any:
    """A callback of the user's."""
    raise KeyError("mine")


def read(paths: list[str], watch: Watch) -> Any:
    """Encoded files, as a batch."""
    files, _ = next(iter(readers.File(files=paths).next_epoch(batch_size=SIZE)))
    return watch(files)


def images(files: Files, watch: Watch) -> Any:
    return watch(gradiva.decoders.image(read(files.good, watch)))


def attempt(policy: Any, function: Callable[..., Any], *args: Any, **keywords: Any) -> None:
    """With the policy "raise" the call fails, with the others it does not."""
    if policy == "raise":
        fails(gradiva.OperatorRuntimeError, function, *args, **keywords)
    else:
        function(*args, **keywords)


def decode(policy: Any, kind: str, files: Files, watch: Watch) -> None:
    encoded = read(getattr(files, kind), watch)
    attempt(policy, gradiva.decoders.image, encoded, on_error=policy)


def decode_window(policy: Any, files: Files, watch: Watch) -> None:
    encoded = read(files.cut, watch)
    attempt(policy, gradiva.decoders.image_crop, encoded, crop=(80, 80), on_error=policy)


def window_outside(files: Files, watch: Watch) -> None:
    encoded = read(files.good, watch)
    fails(
        gradiva.OperatorValueError,
        gradiva.decoders.image_slice,
        encoded,
        start=(0, 0),
        shape=(900, 900),
    )


def no_arrays(files: Files, watch: Watch) -> None:
    fails(gradiva.OperatorRuntimeError, gradiva.decoders.numpy, read(files.good, watch))


def missing_file(policy: Any, files: Files, watch: Watch) -> None:
    reader = watch(readers.File(files=files.missing, on_error=policy))
    epoch = watch(reader.next_epoch(batch_size=SIZE))
    attempt(policy, lambda: watch(next(epoch)[0]))
    watch(next(epoch)[0])


def missing_image(policy: Any, files: Files, watch: Watch) -> None:
    images(files, watch)
    attempt(policy, lambda: watch(gradiva.imread(files.missing[:SIZE], on_error=policy)))


def listed(files: Files, watch: Watch) -> None:
    with gradiva.Quarantine() as bad:
        watch(bad)
        watch(gradiva.decoders.image(read(files.cut, watch), on_error="skip"))
    assert len(bad) == 1


def shape_rule(files: Files, watch: Watch) -> None:
    fails(gradiva.OperatorValueError, gradiva.crop, images(files, watch), crop=(900, 900))


def misspelled(files: Files, watch: Watch) -> None:
    fails(gradiva.OperatorTypeError, gradiva.resize, images(files, watch), **WRONG)


def wrong_type(files: Files, watch: Watch) -> None:
    fails(gradiva.OperatorTypeError, gradiva.crop, images(files, watch), crop="large")


def wrong_number(files: Files, watch: Watch) -> None:
    fails(
        gradiva.OperatorValueError,
        gradiva.flip,
        images(files, watch),
        horizontal=np.ones(SIZE + 1, np.int32),
    )


def unlike_samples(files: Files, watch: Watch) -> None:
    fails(gradiva.OperatorTypeError, gradiva.batch, [watch(np.zeros((90, 90, 3))), "text"])


def not_added(files: Files, watch: Watch) -> None:
    made = images(files, watch)
    fails(gradiva.GradivaError, lambda: made + watch(np.zeros((3, 5))))
    fails(gradiva.GradivaError, lambda: made.slice[900, 0])


def function_raises(whole: bool, files: Files, watch: Watch) -> None:
    made = images(files, watch)
    fails(
        gradiva.OperatorRuntimeError,
        gradiva.python_function,
        made,
        function=mine,
        batch_processing=whole,
    )


def function_calls_us(files: Files, watch: Watch) -> None:
    def cropped(image: Any) -> Any:
        return gradiva.crop(watch(image), crop=(900, 900))

    made = images(files, watch)
    fails(gradiva.OperatorRuntimeError, gradiva.python_function, made, function=cropped)


def _refuses(output: Any, input: Any) -> None:
    if input.size > 0:
        raise ValueError("mine")


def compiled_function_raises(files: Files, watch: Watch) -> None:
    facts = {"in_types": [gradiva.types.UINT8], "ins_ndim": [3]}
    facts |= {"out_types": [gradiva.types.UINT8], "outs_ndim": [3]}
    made = images(files, watch)
    fails(gradiva.OperatorRuntimeError, numba_function, made, run_fn=_refuses, **facts)


def source_raises(files: Files, watch: Watch) -> None:
    source = watch(gradiva.ExternalSource(mine))
    fails(gradiva.OperatorRuntimeError, source)


def source_returns_what_it_must_not(files: Files, watch: Watch) -> None:
    source = watch(gradiva.ExternalSource(lambda: [watch(np.zeros((90, 90, 3))), "text"]))
    fails(gradiva.OperatorTypeError, source)


class Stateless:
    """An iterable whose state cannot be told."""

    def __iter__(self) -> Any:
        return iter([np.zeros((SIZE, 90, 90, 3))] * 3)

    def state_dict(self) -> Any:
        raise KeyError("mine")

    def load_state_dict(self, state: Any) -> None:
        raise KeyError("mine")


def source_without_state(files: Files, watch: Watch) -> None:
    source = watch(gradiva.ExternalSource(Stateless()))
    watch(source())
    fails(gradiva.OperatorRuntimeError, source.get_state)


def while_handling_another(files: Files, watch: Watch) -> None:
    made = images(files, watch)
    try:
        mine()
    except KeyError:
        fails(gradiva.OperatorValueError, gradiva.crop, made, crop=(900, 900))


def deferred(policy: Any, files: Files, watch: Watch) -> None:
    with EvalMode.deferred:
        made = watch(gradiva.decoders.image(read(files.cut, watch), on_error=policy))
        small = watch(gradiva.resize(made, size=(80, 80)))
    attempt(policy, small.evaluate)


def deferred_and_left(files: Files, watch: Watch) -> None:
    """Nobody looks at the results."""
    with EvalMode.deferred:
        made = watch(gradiva.decoders.image(read(files.cut, watch), on_error="skip"))
        watch(gradiva.resize(made, size=(80, 80)))


def deferred_beside(files: Files, watch: Watch) -> None:
    """Of two results that belong together one fails."""
    with EvalMode.deferred:
        made = watch(gradiva.decoders.image(read(files.good, watch)))
        good = watch(gradiva.flip(made))
        bad = watch(gradiva.crop(made, crop=(900, 900)))
    good.evaluate()
    fails(gradiva.OperatorValueError, bad.evaluate)


def deferred_to_the_end(files: Files, watch: Watch) -> None:
    """The error comes where the context ends."""

    def block() -> None:
        with gradiva.EvalContext() as context:
            with EvalMode.deferred:
                made = watch(gradiva.decoders.image(read(files.cut, watch)))
                flipped = watch(gradiva.flip(made))
            context.evaluate_all()
            assert not flipped

    fails(gradiva.OperatorRuntimeError, block)


def compiled(policy: Any, files: Files, watch: Watch) -> None:
    @capture.compile
    def small(encoded: Any) -> Any:
        return gradiva.resize(gradiva.decoders.image(encoded, on_error=policy), size=(80, 80))

    attempt(policy, small, read(files.cut, watch))


def compiled_body(files: Files, watch: Watch) -> None:
    @capture.compile
    def small(encoded: Any) -> Any:
        return gradiva.resize(watch(gradiva.decoders.image(encoded)), **WRONG)

    fails(gradiva.OperatorTypeError, small, read(files.good, watch))


def calls(files: Files, watch: Watch) -> None:
    made = images(files, watch)
    small = watch(gradiva.resize(made, size=(80, 80)))
    watch(gradiva.flip(small) * 2 + 1)
    watch(gradiva.python_function(small, function=np.negative))


def epochs(files: Files, watch: Watch) -> None:
    reader = watch(readers.File(files=files.good))
    for _ in range(2):
        for encoded, _ in watch(reader.next_epoch(batch_size=3)):
            watch(gradiva.decoders.image(watch(encoded)))
    for encoded, _ in watch(reader.next_epoch()):
        watch(gradiva.decoders.image(watch(encoded)))


def items(files: Files, watch: Watch) -> None:
    source = watch(gradiva.ExternalSource([np.zeros((90, 90, 3), np.uint8)] * 2))
    for _ in range(2):
        watch(gradiva.flip(watch(source(batch_size=SIZE))))
    fails(StopIteration, source)


def deferred_calls(files: Files, watch: Watch) -> None:
    with EvalMode.deferred:
        made = watch(gradiva.decoders.image(read(files.good, watch)))
        small = watch(gradiva.resize(made, size=(80, 80)))
        large = watch(gradiva.resize(made, size=(99, 99)))
    small.evaluate()
    large.as_array()[...] = 0


def compiled_calls(files: Files, watch: Watch) -> None:
    @capture.compile
    def small(encoded: Any) -> Any:
        return gradiva.resize(gradiva.decoders.image(encoded), size=(80, 80))

    for _ in range(2):
        watch(small(read(files.good, watch)))


def named(*functions: Any) -> dict[str, Step]:
    return {function.__name__: function for function in functions}


def each(function: Any, *choices: str) -> dict[str, Step]:
    """A step for each choice of the first arguments."""
    return {
        f"{function.__name__}: {choice}": partial(function, *choice.split()) for choice in choices
    }


STEPS: dict[str, Step] = {
    **each(decode, *(f"{policy} {kind}" for policy in POLICIES for kind in ("cut", "text"))),
    **each(decode_window, *POLICIES),
    **each(missing_file, *POLICIES),
    **each(missing_image, *POLICIES),
    **named(
        window_outside,
        no_arrays,
        listed,
        shape_rule,
        misspelled,
        wrong_type,
        wrong_number,
        unlike_samples,
        not_added,
        function_calls_us,
        compiled_function_raises,
        source_raises,
        source_returns_what_it_must_not,
        source_without_state,
        while_handling_another,
    ),
    "function_raises": partial(function_raises, False),
    "function_raises: whole batch": partial(function_raises, True),
    **each(deferred, *POLICIES),
    **named(deferred_and_left, deferred_beside, deferred_to_the_end),
    **each(compiled, *POLICIES),
    **named(compiled_body),
}
"""What goes wrong."""

FINE: dict[str, Step] = named(calls, epochs, items, deferred_calls, compiled_calls)
"""What goes well."""
