"""Promise: bytes that others have made are read, or refused with an error of ours that names the
file; nothing else comes out of a parser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.jit import Kernel
from tests.eager.operators.hostile import interpreted_call
from tests.soaking import Figures, scaled
from tests.tiers import examples, few

from . import seeds
from .parsers import PARSERS, clear, survives
from .run import WITH_KERNELS


@pytest.fixture(scope="module", autouse=True)
def _files() -> Iterator[None]:
    yield
    clear()


@cache
def begun(name: str) -> list[bytes]:
    return [*PARSERS[name].seeds(), *seeds.corpus(name)]


NUMBERS = (0, 1, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1)
WORDS = [
    (number % 256**width).to_bytes(width, order)
    for number in NUMBERS
    for width in (1, 2, 4, 8)
    for order in ("little", "big")
]
TEXTS = [b"-1", b"--5", b"1e309", b"nan", b"9" * 30, b"9" * 5000, b'"', b"\xff\xfe", b"\n", b"[]"]
PIECES = st.binary(max_size=9) | st.sampled_from(WORDS) | st.sampled_from(TEXTS)


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """A seed with up to four changes, or other bytes."""
    data = bytearray(draw(st.sampled_from(begun(name)) | st.binary(max_size=64)))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        kind = draw(st.sampled_from(["replace", "insert", "drop", "cut", "copy"]))
        if kind == "cut":
            del data[place:]
        elif kind == "drop":
            del data[place : place + draw(st.integers(1, 16))]
        elif kind == "copy":
            data[place:place] = data[: draw(st.integers(1, 64))]
        else:
            piece = draw(PIECES)
            data[place : place + (len(piece) if kind == "replace" else 0)] = piece
    return bytes(data)


QUICK = [name for name, one in PARSERS.items() if not one.compiled and name != "image_header"]


@pytest.mark.parametrize("name", few(PARSERS, *QUICK[::4]))
def test_drawn_bytes(name: str, monkeypatch: pytest.MonkeyPatch, figures: Figures) -> None:
    """Kernels are interpreted, so that they see indices beyond the ends of their arrays."""
    parser = PARSERS[name]
    if not parser.compiled:
        monkeypatch.setattr(Kernel, "__call__", interpreted_call)
        monkeypatch.setattr(
            BackgroundKernel, "is_worth_compiling", lambda *_: False
        )  # nor do kernels call C
    taken = refused = 0
    for data in begun(name):
        if survives(parser, data):
            taken += 1
        else:
            refused += 1
    assert taken, "no seed is good"

    @settings(
        max_examples=scaled(examples(50)),
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow],
    )
    @given(damaged(name))
    def attempt(data: bytes) -> None:
        nonlocal taken, refused
        if survives(parser, data):
            taken += 1
        else:
            refused += 1

    attempt()
    assert taken + refused > len(begun(name))
    figures(taken=taken, refused=refused)


def test_parsers_whose_kernels_are_compiled() -> None:
    """atheris leaves their code alone: Numba could not compile what it makes of it."""
    assert sorted(WITH_KERNELS) == sorted(name for name, one in PARSERS.items() if one.compiled)
