"""Draws random programs: what is decoded, a chain such as people write, then any calls."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np

import gradiva
from gradiva.eager.support.errors import GradivaError
from tests.random_programs.program_newer import NEWER, NEWER_OTHERS, draw_cached
from tests.random_programs.program_operators import (
    OPERATORS,
    OTHERS,
    PHASES,
    Always,
    Line,
    draw_decoded,
)
from tests.random_programs.program_runs import run_eager
from tests.random_programs.programs import Drawer, Program, Ref, Step

__all__ = ["WIDE", "draw_program"]

WIDE = 5000
"""From this seed on, programs are drawn from `program_newer` too."""

_LINES: dict[str, Line] = {line.operator.name: line for line in OPERATORS}


@functools.lru_cache(maxsize=128)
def draw_program(seed: int) -> Program:
    """The program of a seed."""
    drawer = Drawer(seed)
    for place in drawer.encoded:
        _try(drawer, lambda place=place: draw_decoded(drawer, Ref(place)), 20)
    if drawer.chance(0.88):
        drawer.in_chain = True
        for names, probability in PHASES:
            if drawer.chance(probability):
                line = _LINES[drawer.random.choice(names)]
                _try(drawer, lambda line=line: _draw_line(drawer, line), 3)
        drawer.in_chain = False
    wanted = drawer.random.choice((0, 0, 1, 2)) if len(drawer.program.steps) > 2 else 4
    wanted += 5 * (seed >= WIDE)
    caches = random.Random(f"caches of {seed}")  # of its own: the other draws stay as they are
    for _ in range(wanted):
        if seed >= WIDE and caches.random() < 0.3:
            _try(drawer, lambda: draw_cached(drawer), 1)
        _try(drawer, lambda: _draw_call(drawer), 10)
    # Of two calls that fail, the one whose types are wrong is found first in a graph, and the
    # one that is made first in dynamic mode. So at most one fails.
    fails = _fails(drawer.program)
    failed = _draw_bad_call(drawer) if drawer.chance(0.08) and not fails else None
    program = drawer.finish(failed, may_damage=failed is None and not fails)
    if _fails(program):
        # A pipeline does not make calls that nobody needs, and never meets their errors.
        program.fails = True
        program.outputs += tuple(program.unread)
    return program


def _fails(program: Program) -> bool:
    """Whether a call fails when the program runs; other random windows do not fit, it may be."""
    return any(isinstance(turn, tuple) for turn in run_eager(program)[:-1])


def _try(drawer: Drawer, call: Any, tries: int) -> None:
    for _ in range(tries):
        try:
            call()
            return
        except GradivaError:
            continue


def _draw_call(draw: Drawer) -> None:
    """Append one call, and those that make its arguments. Raises GradivaError if it fails."""
    wide = draw.program.seed >= WIDE
    lines = (*NEWER, *OPERATORS[:8]) if wide else OPERATORS
    others = NEWER_OTHERS if wide else OTHERS
    weights = [line.weight for line in lines] + [weight for _, weight in others]
    makers: list[Any] = [*lines, *(make for make, _ in others)]
    chosen = draw.random.choices(makers, weights)[0]
    if isinstance(chosen, Line):
        _draw_line(draw, chosen)
    else:
        chosen(draw)


def _draw_line(draw: Drawer, line: Line) -> None:
    image = draw.image()
    known = draw.facts[image.index]
    given = line.more(draw, known) if line.more else {}
    for name, rule in line.rules.items():
        if isinstance(rule, Always) or draw.chance(0.45):
            value = (rule.rule if isinstance(rule, Always) else rule)(draw, known)
            if value is not None:
                given[name] = value
    draw.call(line.operator.name, line.operator, image, **given)


def _draw_bad_call(draw: Drawer) -> Step | None:
    """A call that fails in every turn that has samples, or None."""
    image = draw.image()
    known = draw.facts[image.index]
    far = {"crop": (known.largest + 1, 2)}
    calls: list[tuple[Any, dict[str, Any]]] = [
        (gradiva.crop, far),
        (gradiva.crop, {"crop": (2, 2), "crop_pos_x": draw.choice(1.5, -0.5)}),
        (
            gradiva.crop,
            {"crop": (2, 2), "crop_pos_y": Ref(len(draw.program.turns[0]) - 1), "rounding": "up"},
        ),
        (gradiva.crop, {"crop_w": 2}),
        (gradiva.crop_mirror_normalize, {**far, "mirror": 1}),
        (gradiva.crop_mirror_normalize, {"mean": [1.0] * 5}),
        (gradiva.crop_mirror_normalize, {"dtype": "int32"}),
        (gradiva.resize, {"size": (4, 4), "resize_x": 4}),
        (gradiva.resize, {"size": (4, 4), "dtype": "int64"}),
        (gradiva.resize, {"resize_x": 5, "mode": "fit"}),
        (gradiva.transpose, {"perm": (0, 0, 1)}),
        (gradiva.brightness_contrast, {"dtype": "float64"}),
        (gradiva.hsv, {"dtype": "float64"}),
        (gradiva.color_twist, {"image_type": gradiva.types.BGR}),
        (gradiva.gaussian_blur, {"sigma": -1.0}),
        (gradiva.random_resized_crop, {"size": 4, "random_area": (0.9, 0.2)}),
        (lambda x: x.slice[known.largest + 3], {}),
        (lambda x: x + np.ones((5, 7, 9, 11), np.float32), {}),
    ]
    operator, given = draw.random.choice(calls)
    step = Step(getattr(operator, "name", "expression"), operator, (image,), given)
    for values in draw.values:
        try:
            step.run(values)
        except GradivaError:
            continue
        if len(values[0]):
            return None
    return step
