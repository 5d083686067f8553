"""Random programs give the same bits, the same errors and the same random state however they run:
eagerly, deferred, compiled, in a captured loop, as a pipeline, by each compiler pass alone and by
all of them. And passes that are broken on purpose are found out."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from gradiva.capture.compiler.fuse_chains import fuse
from gradiva.capture.compiler.optimize import PASSES, optimize
from gradiva.capture.compiler.rewriter import Rewriter, rewrite
from gradiva.capture.graph.builtin_ops import random_key
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.runtime import program as running
from gradiva.capture.runtime.fused_group import run_group
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.eager.rows import row_chain
from gradiva.eager.simd import streaming
from gradiva.eager.support.errors import GradivaError
from tests.random_programs.program_drawing import WIDE, draw_program
from tests.random_programs.program_moments import Moments
from tests.random_programs.program_newer import NEWER
from tests.random_programs.program_runs import (
    WAYS,
    comparable,
    graph_of,
    run_eager,
    run_pipeline,
    run_plan,
    turns_of,
)
from tests.random_programs.programs import Program
from tests.soaking import Figures, scaled
from tests.tiers import few

QUICK = (*range(3), *range(4, 7), WIDE)
FIRST = range(100)
FIRST_WIDE = range(WIDE, WIDE + 8)
MANY_WIDE = [range(first, first + 50) for first in range(WIDE + 100, WIDE + 100 + scaled(100), 50)]
MANY = [range(first, first + 100) for first in range(1000, 1000 + scaled(100), 100)]
CHOICES: dict[str, tuple[Any, ...]] = {
    "no pass": (),
    **{apply.__name__: (apply,) for apply in PASSES},
    "all passes": PASSES,
}


def explained(program: Program, way: str, found: Any, wanted: Any) -> str:
    """What a person needs to see of a difference."""
    lines = [f"{way} differs from dynamic mode: draw_program({program.seed})", str(program)]
    try:
        graph = graph_of(program)
        lines += [str(graph), str(optimize(graph, CHOICES.get(way, PASSES)))]
    except GradivaError as error:
        lines.append(f"no graph: {error}")
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one != other:
            lines.append(f"at {place}: {str(one)[:500]}\n   not {str(other)[:500]}")
    return "\n".join(lines)


def check_program(seed: int) -> None:
    program = draw_program(seed)
    eager = run_eager(program)
    # From here on objects go at random moments, which the eager run above knows nothing of.
    quiet, program.moments = program.moments, Moments(seed)
    try:
        check_ways(program, eager)
    finally:
        program.moments.end()
        program.moments = quiet  # for others, which draw the same program


def check_ways(program: Program, eager: Any) -> None:
    """Every way to run a program gives what it gave in dynamic mode."""
    found, wanted = run_eager(program), eager
    assert found == wanted, explained(program, "eager, with moments", found, wanted)
    for way, run in WAYS.items():
        found, wanted = comparable(way, run(program), eager), comparable(way, eager, eager)
        assert found == wanted, explained(program, way, found, wanted)
    wanted = turns_of(eager)
    found = run_pipeline(program)
    assert found == wanted, explained(program, "pipeline", found, wanted)
    for way, passes in CHOICES.items():
        found = run_plan(program, *passes)
        assert found == wanted, explained(program, way, found, wanted)


@pytest.mark.core
@pytest.mark.parametrize("seed", few([*FIRST, *FIRST_WIDE], *QUICK))
def test_same_bits_and_errors(seed: int) -> None:
    check_program(seed)


@pytest.mark.full
@pytest.mark.parametrize("seeds", [*MANY, *MANY_WIDE], ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_same_bits_and_errors_of_many(seeds: range, figures: Figures) -> None:
    for count, seed in enumerate(seeds):
        if count % 10 == 0:  # collections, at random moments, pass over what is there by now
            gc.collect()
            gc.freeze()
        check_program(seed)
    figures(programs=len(seeds))


@pytest.mark.full
@pytest.mark.parametrize("seeds", [FIRST[:12], FIRST_WIDE], ids=["first", "wide"])
def test_same_bits_past_the_caches(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all results were so large that they are written past the caches."""
    monkeypatch.setattr(streaming, "_LARGE", 0)
    monkeypatch.setattr(streaming, "_LONG", 1)
    monkeypatch.setattr(row_chain, "_LINE", 1)
    for seed in seeds:
        check_program(seed)


@pytest.mark.full
def test_programs_hold_what_they_are_to_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first hundred programs, counted. "run": by the fused kernels, not one by one."""
    found = dict.fromkeys(
        (
            "group of 3",
            "group of 3 run",
            "random",
            "several outputs",
            "decoder in a group",
            "fail",
            "ragged",
            "empty batch",
        ),
        0,
    )
    largest: list[int] = []

    def counting(members: tuple[Node, ...], *arguments: Any) -> Any:
        result = run_group(members, *arguments)
        largest.append(len(members))
        return result

    monkeypatch.setattr(running, "run_group", counting)
    for seed in FIRST:
        program = draw_program(seed)
        largest.clear()
        run_plan(program, *PASSES)
        try:
            groups = [node.members for node in optimize(graph_of(program)) if node.members]
        except GradivaError:
            groups = []
        batches = [batch for turn in program.turns for batch in turn]
        found["group of 3"] += any(len(members) >= 3 for members in groups)
        found["group of 3 run"] += max(largest, default=0) >= 3
        found["random"] += any("random" in call for call in program.calls)
        found["several outputs"] += len(program.outputs) > 1
        found["decoder in a group"] += any(
            members[0].operator.name.startswith("decoders.") for members in groups
        )
        found["fail"] += program.fails
        found["ragged"] += any(not batch.batch_shape.uniform for batch in batches)
        found["empty batch"] += any(len(batch) == 0 for batch in batches)
    print(found)
    least = {
        "group of 3": 60, "group of 3 run": 45, "random": 30, "several outputs": 20,
        "decoder in a group": 10, "fail": 5, "ragged": 40, "empty batch": 2,
    }  # fmt: skip
    assert all(found[name] >= number for name, number in least.items()), found


def operators_of(seed: int) -> set[str]:
    return set(draw_program(seed).calls)


@pytest.mark.full
def test_every_operator_is_drawn() -> None:
    drawn = set().union(*map(operators_of, FIRST))
    assert drawn >= {
        "crop",
        "flip",
        "resize",
        "cast",
        "crop_mirror_normalize",
        "transpose",
        "brightness",
        "contrast",
        "brightness_contrast",
        "hue",
        "saturation",
        "hsv",
        "color_twist",
        "color_space_conversion",
        "gaussian_blur",
        "random_resized_crop",
        "random.uniform",
        "random.coin_flip",
        "random.normal",
        "random_crop_generator",
        "decoders.image",
        "decoders.image_crop",
        "decoders.image_random_crop",
        "subscript",
        "add",
        "mul",
    }


@pytest.mark.full
def test_every_newer_operator_is_drawn() -> None:
    seeds = [seed for seeds in (FIRST_WIDE, *MANY_WIDE) for seed in seeds]
    drawn = set().union(*map(operators_of, seeds))
    assert not {line.operator.name for line in NEWER} - drawn
    assert drawn >= {
        "reductions.mean",
        "cat",
        "stack",
        "bb_flip",
        "bbox_paste",
        "bbox_rotate",
        "reshape",
        "random_bbox_crop",
        "transforms.combine",
        "coord_transform",
        "coord_flip",
        "random.beta",
        "random.choice",
        "roi_random_crop",
        "permute_batch",
        "multi_paste",
        "filter",
        "mixup",
        "cutmix",
        "mosaic",
        "random_erasing",
    }


# Passes that are wrong, each in a way in which a pass may well be wrong.

Rule = Callable[[Rewriter, Node], Edge | None]


def wrong(rule: Rule) -> Callable[[Graph], Graph]:
    return lambda graph: rewrite(graph, rule)


def drop_flips(rewriter: Rewriter, node: Node) -> Edge | None:
    return rewriter.inputs(node)[0] if node.operator.name == "flip" else None


def swap_crop_and_flip(rewriter: Rewriter, node: Node) -> Edge | None:
    """crop(flip(x)) as flip(crop(x)): the window is another one."""
    inner = node.inputs[0].node if node.inputs else node
    if (node.operator.name, inner.operator.name) != ("crop", "flip"):
        return None
    image, *flags = rewriter.inputs(inner)
    window = rewriter.inputs(node)[1:]
    cut = rewriter.add(node, node.operator, (image, *window), dict(node.attributes))
    return rewriter.add(inner, inner.operator, (cut, *flags), dict(inner.attributes))


def fold_random_keys(rewriter: Rewriter, node: Node) -> Edge | None:
    """As if the number of a random call were a constant."""
    if node.operator is not random_key:
        return None
    fields = {**dict(node.attributes), "number": 0}
    made = rewriter.builder.add(random_key, rewriter.inputs(node), fields, node.type)
    return Edge(made, 0)


def merge_random_calls(rewriter: Rewriter, node: Node) -> Edge | None:
    """Random calls with equal arguments as one."""
    if not node.operator.random:
        return None

    def without_key(one: Node) -> Any:
        given = tuple(edge for edge in one.inputs if edge.argument != "key")
        return one.operator, given, one.attributes

    first = next(one for one in rewriter.graph if without_key(one) == without_key(node))
    return None if first is node else rewriter.moved(Edge(first, 0))


def fuse_all_but_the_last_step(graph: Graph) -> Graph:
    def shorten(rewriter: Rewriter, node: Node) -> Edge | None:
        inner = node.inputs[0].node if node.inputs else node
        stages = (
            isinstance(node.operator.fusion_role, Pixelwise),
            isinstance(inner.operator.fusion_role, Pixelwise),
        )
        same = node.type == inner.type
        return rewriter.inputs(node)[0] if all(stages) and same else None

    return fuse(rewrite(graph, shorten))


def forget_roundings(rewriter: Rewriter, node: Node) -> Edge | None:
    """A pixel-wise step on what was rounded, as if it had not been."""
    if node.operator.name != "cast" or node.inputs[0].argument is not None:
        return None
    reader = [one for one in rewriter.graph if any(e.node is node for e in one.inputs)]
    return rewriter.inputs(node)[0] if reader and rewriter.used_once(node) else None


def move_without_looking(rewriter: Rewriter, node: Node) -> Edge | None:
    """A window moves past a pixel-wise step, also one that fills in values of its own."""
    inner = node.inputs[0].node if node.inputs else node
    if node.operator.name != "crop" or not isinstance(inner.operator.fusion_role, Pixelwise):
        return None
    image, *others = rewriter.inputs(inner)
    cut = rewriter.add(
        node, node.operator, (image, *rewriter.inputs(node)[1:]), dict(node.attributes)
    )
    return rewriter.add(inner, inner.operator, (cut, *others), dict(inner.attributes))


WRONG = {
    "drop flips": wrong(drop_flips),
    "swap crop and flip": wrong(swap_crop_and_flip),
    "fold random keys": wrong(fold_random_keys),
    "merge random calls": wrong(merge_random_calls),
    "fuse all but the last step": fuse_all_but_the_last_step,
    "forget roundings": wrong(forget_roundings),
    "move without looking": wrong(move_without_looking),
}


@pytest.mark.parametrize("name", few(WRONG, "drop flips", "forget roundings"))
def test_a_wrong_pass_is_found_out(name: str) -> None:
    """By other bits or other errors, not only by the verifier."""
    for number, seed in enumerate(FIRST):
        program = draw_program(seed)
        if run_plan(program, WRONG[name], verify=False) != run_plan(program):
            print(f"{name}: found out by program {number}")
            return
    pytest.fail(f"{name}: not found out by {len(FIRST)} programs")
