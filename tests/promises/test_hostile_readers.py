"""Promise: readers and samplers that are given values which nobody should give answer with samples,
or with an error of ours. (For all operators: tests/eager/operators/test_hostile.py.)"""

from __future__ import annotations

import inspect
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import GradivaError
from gradiva.eager.operators.operator import operators
from tests.eager.operators.hostile import INTEGERS, REALS, TEXTS, _argument, attacked
from tests.ops.readers.formats import FORMATS
from tests.soaking import Figures, scaled

OTHERS: list[Any] = [None, True, [], [[]], {}, (), [None], object(), b"bytes", 1j, [-1], [1e300]]
SAMPLERS = [
    name
    for name in dir(gradiva.samplers)
    if inspect.isclass(getattr(gradiva.samplers, name)) and name != "Sampler"
]


def anything(dice: random.Random) -> Any:
    one = dice.choice([*INTEGERS, *REALS, *TEXTS, *OTHERS])
    return [one] * dice.choice((1, 3, 7)) if dice.random() < 0.3 else one


def attempt(make: Any, size: Any = 2) -> bool:
    """Whether samples came."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            for number, _ in enumerate(make().next_epoch(batch_size=size)):
                if number == 3:
                    break
        except GradivaError as error:
            str(error).encode()
            return False
    assert not [one for one in heard if issubclass(one.category, RuntimeWarning)]
    return True


def error_of(make: Any) -> str:
    """What is said of an epoch that cannot be read, or nothing."""
    try:
        for _ in make().next_epoch(batch_size=2):
            pass
    except GradivaError as error:
        return str(error)
    return ""


LEFT_OUT = {"device", "bytes_per_sample_hint"}
"""Of these other tests know more."""


class Rows:
    def __len__(self) -> int:
        return 5

    def __getitem__(self, number: int) -> Any:
        return {"image": np.full((2, number + 1), number, np.uint8), "label": number}


def files(folder: Path, size: int) -> dict[str, Any]:
    for number in range(size):
        (folder / f"{number % 2}").mkdir(exist_ok=True)
        (folder / f"{number % 2}" / f"{number}.jpg").write_bytes(b"x" * number)
    return {"file_root": str(folder)}


def mixed(folder: Path, size: int) -> dict[str, Any]:
    given = files(folder, size)
    return {"readers": [gradiva.readers.File(**given), gradiva.readers.File(**given)]}


def videos(folder: Path, size: int) -> dict[str, Any]:
    given = FORMATS["video"].write(folder, size)
    return {"filenames": sorted(map(str, folder.glob("*.mp4"))), "sequence_length": 2} | {
        key: given[key] for key in ("colorspace",)
    }


KINDS: dict[str, tuple[Callable[[Path, int], dict[str, Any]], Any]] = {
    **{name: (kind.write, kind.reader) for name, kind in FORMATS.items()},
    "file": (files, gradiva.readers.File),
    "mix": (mixed, gradiva.readers.Mix),
    "table": (lambda *_: {"source": Rows(), "columns": ["image", "label"]}, gradiva.readers.Table),
    "videos": (videos, gradiva.readers.Video),
    "videos, resized": (lambda *where: {**videos(*where), "size": 8}, gradiva.readers.VideoResize),
}


ELSEWHERE = {"external_source", "experimental.inputs.video"}
"""In test_hostile_options.py."""
LATER = {"numba_function"}
"""Known from its first use on; `test_numba_function.py` gives it what it cannot take."""
INTERNAL = {
    *("_conditional.merge", "_conditional.split", "cached", "constant", "fused", "input"),
    "random_key",
}
"""Nobody calls them."""


def test_no_operator_is_left_out() -> None:
    known = {reader.operator.name for _, reader in KINDS.values()}
    assert known == {name for name in operators if "readers." in name}
    ours = {name for name, one in operators.items() if one.__module__.startswith("gradiva.")}
    assert {*attacked()} | known | ELSEWHERE | INTERNAL == ours - LATER


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(KINDS))
def test_readers(name: str, tmp_path: Path, figures: Figures) -> None:
    write, reader = KINDS[name]
    data = write(tmp_path, 5)
    dice = random.Random(name)
    arguments = {
        key: argument
        for key, argument in reader.operator.arguments.items()
        if argument.kind is not None and key not in LEFT_OUT
    }
    taken = refused = 0
    for _ in range(scaled(40)):
        given = dict(data)
        for key in dice.sample(sorted(arguments), dice.choice((1, 1, 2))):
            usual = given.get(key, arguments[key].default)
            value = _argument(dice, arguments[key], 2, usual)
            given[key] = anything(dice) if dice.random() < 0.4 else value
        size = dice.choice((2, 2, 2, anything(dice)))
        if attempt(lambda given=given: reader(**given), size):
            taken += 1
        else:
            refused += 1
    assert min(taken, refused) > 0
    figures(taken=taken, refused=refused)


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name: str, photographs: Path, figures: Figures) -> None:
    make: Any = getattr(gradiva.samplers, name)
    parameters = [
        one
        for one in inspect.signature(make).parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    dice = random.Random(name)
    taken = refused = 0
    for _ in range(scaled(40)):
        given = {
            one.name: anything(dice)
            for one in parameters
            if one.default is one.empty or dice.random() < 0.6
        }
        if attempt(
            lambda given=given: gradiva.readers.File(
                file_root=str(photographs), sampler=make(**given)
            )
        ):
            taken += 1
        else:
            refused += 1
    assert refused
    figures(taken=taken, refused=refused)


@pytest.mark.parametrize("name", FORMATS)
def test_pipes_are_not_waited_for(name: str, tmp_path: Path) -> None:
    """Nobody writes into them, where a reader looks for its files and where it has found them."""
    kind = FORMATS[name]
    refused = 0
    given = kind.write(tmp_path, 3)
    found = sorted((path for path in tmp_path.rglob("*.*") if path.is_file()), reverse=True)
    files = {path.suffix: path for path in found}
    for path in files.values():
        content = path.read_bytes()
        for early in (True, False):
            made = None if early else kind.reader(**given)
            path.unlink()
            os.mkfifo(path)
            told = error_of(lambda made=made: made or kind.reader(**given))
            assert not told or "no regular file" in told
            refused += bool(told)
            path.unlink()
            path.write_bytes(content)
    assert refused


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"sampler": gradiva.samplers.Weighted(epoch_size=1 << 40)}, "`epoch_size`"),
        ({"sampler": "balanced", "epoch_size": 1 << 40}, "`epoch_size`"),
        ({"sampler": gradiva.samplers.PK(1, 1 << 40)}, "`sampler`"),
        ({"files": ["a\0.jpg"]}, "no file has such a name"),
        ({"pad_last_batch": True}, "`batch_size`"),
    ],
)
def test_what_would_never_end_is_refused(
    given: dict[str, Any], match: str, photographs: Path
) -> None:
    where: dict[str, Any] = {} if "files" in given else {"file_root": str(photographs)}
    with pytest.raises(GradivaError, match=match):
        next(gradiva.readers.File(**where, **given).next_epoch(batch_size=1 << 40))


def test_pipelines_refuse_batches_that_never_end(photographs: Path) -> None:
    pipe = gradiva.Pipeline(batch_size=1 << 30, num_threads=1)
    with pipe:
        pipe.set_outputs(*gradiva.fn.readers.file(file_root=str(photographs)))
    with pytest.raises(GradivaError, match="`batch_size`"):
        pipe.run()
    pipe.close()


def test_seeds_below_zero_are_none(photographs: Path) -> None:
    """As in other places."""
    options: dict[str, Any] = {"shuffle_after_epoch": True, "seed": 3}
    others: list[dict[str, Any]] = [{}, {"shuffle_after_epoch_seed": -1}]
    names = [
        next(reader.next_epoch(batch_size=9))[0].source_info()
        for more in others
        for reader in [gradiva.readers.File(file_root=str(photographs), **options, **more)]
    ]
    assert names[0] == names[1]
