"""Graphs: how they print, what is interned, what the verifier refuses, what pruning drops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, random, types
from gradiva.capture.compiler.dce import prune
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.compiler.verify import GraphError, verify_graph
from gradiva.capture.graph.graph import Edge, Graph, GraphBuilder, Node
from gradiva.eager.operators.operator import operators
from gradiva.eager.types.sample_type import SampleType


def graph_of(function: Any, **options: Any) -> Graph:
    pipe = gradiva.pipeline_def(batch_size=4, **options)(function)()
    return verify_graph(pipe.graph)


def train() -> Any:
    files, labels = fn.readers.file(file_root="/data", random_shuffle=True, name="photos")
    images = fn.decoders.image(files, output_type=types.RGB)
    images = fn.resize(images, size=(256, 256), interp_type=types.INTERP_CUBIC)
    images = fn.crop_mirror_normalize(
        images, crop=(224, 224), mirror=fn.random.coin_flip(), mean=[1.0, 2.0, 3.0]
    )
    return images * 0.5, labels, random.uniform()


GOLDEN = """\
train {
  %0, %1 = readers.file(effect=0, file_root='/data', random_shuffle=True) : uint8 1-D cpu, int32 1-D cpu
  %2 = decoders.image(%0, output_type=RGB) : uint8 HWC cpu
  %3 = resize(%2, interp_type=INTERP_CUBIC, size=(256.0, 256.0)) : uint8 HWC cpu
  %4 = random_key(source=%0, number=0) : ? 0-D cpu
  %5 = random.coin_flip(key=%4, shared=False) : int32 0-D cpu
  %6 = crop_mirror_normalize(%3, mirror=%5, crop=(224.0, 224.0), mean=(1.0, 2.0, 3.0)) : float32 CHW cpu
  %7 = constant(layout='', value=float32(0.5)) : float32 0-D cpu
  %8 = mul(%6, %7) : float32 CHW cpu
  %9 = random_key(source=%0, number=1) : ? 0-D cpu
  %10 = random.uniform(key=%9, shared=True) : float32 0-D cpu
  return %8, %1, %10
}"""  # noqa: E501

COMPILED = """\
train {
  %0, %1 = readers.file(effect=0, file_root='/data', random_shuffle=True) : uint8 1-D cpu, int32 1-D cpu
  %2 = random_key(source=%0, number=0) : ? 0-D cpu
  %3 = random.coin_flip(key=%2, shared=False) : int32 0-D cpu
  %4 = fused(%0, %3) : float32 CHW cpu {
    .0 = decoders.image(%0, output_type=RGB) : uint8 HWC cpu
    .1 = resize(.0, interp_type=INTERP_CUBIC, size=(256.0, 256.0)) : uint8 HWC cpu
    .2 = crop(.1, crop=(224.0, 224.0)) : uint8 HWC cpu
    .3 = flip(.2, horizontal=%3) : uint8 HWC cpu
    .4 = normalize_pixels(.3, mean=(1.0, 2.0, 3.0)) : float32 HWC cpu
    .5 = transpose(.4, perm=(2, 0, 1)) : float32 CHW cpu
  }
  %5 = constant(layout='', value=float32(0.5)) : float32 0-D cpu
  %6 = mul(%4, %5) : float32 CHW cpu
  %7 = random_key(source=%0, number=1) : ? 0-D cpu
  %8 = random.uniform(key=%7, shared=True) : float32 0-D cpu
  return %6, %1, %8
}"""  # noqa: E501


@pytest.mark.tiny
def test_golden_print() -> None:
    graph = graph_of(train)
    assert str(graph) == GOLDEN
    assert str(optimize(graph, verify=True)) == COMPILED


@pytest.mark.tiny
def test_locations_are_the_users_lines() -> None:
    graph = graph_of(train)
    resize = next(node for node in graph if node.operator.name == "resize")
    (line,) = graph.locations[resize]
    assert line.text.startswith("images = fn.resize(images, size=(256, 256)")
    assert "test_graph.py" in str(line)
    reader = graph.nodes[0]
    assert graph.names[reader] == "photos"


@pytest.mark.tiny
def test_equal_calls_are_one_node() -> None:
    def program() -> Any:
        files, _ = fn.readers.file(file_root="/data")
        images = fn.decoders.image(files)
        return fn.flip(images), fn.flip(images), fn.flip(images, vertical=1), images + 1, images + 1

    graph = graph_of(program)
    assert [node.operator.name for node in graph].count("flip") == 2
    assert [node.operator.name for node in graph].count("add") == 1
    assert graph.outputs[0] == graph.outputs[1]


@pytest.mark.tiny
def test_what_must_not_merge() -> None:
    def program() -> Any:
        one, _ = fn.readers.file(file_root="/data")
        two, _ = fn.readers.file(file_root="/data")
        draws = [fn.random.uniform(), fn.random.uniform(), random.uniform(), random.uniform()]
        sums = [one + 1, one + 1.0, one + True, one + 0.0, one + -0.0, one + np.uint8(1)]
        return (one, two, *draws, *sums)

    graph = graph_of(program)
    assert len(set(graph.outputs)) == len(graph.outputs)


@pytest.mark.tiny
def test_an_explicit_seed_is_the_same_call() -> None:
    def program() -> Any:
        return fn.random.uniform(seed=3), fn.random.uniform(seed=3), fn.random.uniform(seed=4)

    graph = graph_of(program)
    assert graph.outputs[0] == graph.outputs[1] != graph.outputs[2]


@pytest.mark.tiny
def test_prune_fires() -> None:
    def program() -> Any:
        files, labels = fn.readers.file(file_root="/data")
        fn.flip(fn.decoders.image(files))
        return labels

    graph = graph_of(program)
    assert len(graph) == 3
    assert [node.operator.name for node in prune(graph)] == ["readers.file"]


@pytest.mark.tiny
def test_prune_refuses_to_drop_what_is_kept() -> None:
    def program() -> Any:
        files, labels = fn.readers.file(file_root="/data")
        fn.flip(fn.decoders.image(files), preserve=True)
        return labels

    graph = graph_of(program)
    assert prune(graph).nodes == graph.nodes


def test_prune_changes_no_value() -> None:
    def feed() -> Any:
        return np.arange(4 * 6, dtype=np.uint8).reshape(4, 2, 1, 3)

    @gradiva.pipeline_def(batch_size=4)
    def program(wasteful: bool) -> Any:
        images = fn.external_source(source=feed, layout="HWC")
        if wasteful:
            fn.resize(images, size=(1000, 1000))
        return fn.flip(images, vertical=1)

    plain, wasteful = program(False), program(True)
    left, right = plain.run()[0].as_array(), wasteful.run()[0].as_array()
    np.testing.assert_array_equal(left, right)
    assert len(wasteful.graph) == len(plain.graph)


@pytest.mark.tiny
def test_each_stage_can_be_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADIVA_PRINT_GRAPH", "1")
    optimize(graph_of(train))
    printed = capsys.readouterr().err
    assert "# recorded\ntrain {" in printed
    assert "# after prune\ntrain {" in printed


def flip_node(*inputs: Edge, **changes: Any) -> Node:
    fields = {
        "operator": operators["flip"],
        "inputs": inputs,
        "attributes": (),
        "type": tuple(edge.node.type[0] for edge in inputs),
    }
    return Node(**{**fields, **changes})


@pytest.mark.tiny
def test_verifier() -> None:
    builder = GraphBuilder()
    constant = builder.add(
        operators["constant"],
        (),
        {"layout": "HWC", "value": np.zeros((1, 1, 3), np.uint8)},
        (SampleType(gradiva.uint8, 3, "HWC"),),
    )
    good = flip_node(Edge(constant, 0))
    verify_graph(Graph((constant, good), (Edge(good, 0),)))
    bad = {
        "before it was made": ((good, constant), good),
        "twice": ((constant, good, good), good),
        "does not exist": ((constant, flip_node(Edge(constant, 1), type=constant.type)), constant),
        "unknown argument": (
            (constant, flip_node(Edge(constant, 0), Edge(constant, 0, "color"))),
            constant,
        ),
        "unknown attribute": (
            (constant, flip_node(Edge(constant, 0), attributes=(("color", 1),))),
            constant,
        ),
        "a random operator has a key": (
            (constant, flip_node(Edge(constant, 0), Edge(constant, 0, "key"))),
            constant,
        ),
        "the type rule": (
            (constant, flip_node(Edge(constant, 0), type=(SampleType(gradiva.int8, 3, "HWC"),))),
            constant,
        ),
        "not an output": ((constant,), good),
    }
    for reason, (nodes, output) in bad.items():
        with pytest.raises(GraphError, match=reason):
            verify_graph(Graph(nodes, (Edge(output, 0),)))


@pytest.mark.tiny
def test_a_graph_of_one_function_cannot_use_symbols_of_another() -> None:
    stolen: list[Any] = []

    def one() -> Any:
        files, _ = fn.readers.file(file_root="/data")
        stolen.append(files)
        return files

    graph_of(one)
    with pytest.raises(TypeError, match="belongs to another graph"):
        graph_of(lambda: fn.decoders.image(stolen[0]))
    later = gradiva.decoders.image(stolen[0])
    with pytest.raises(TypeError, match="belongs to another graph"):
        graph_of(lambda: later)
    with pytest.raises(TypeError, match="no data outside of the pipeline"):
        gradiva.capture.compile(gradiva.decoders.image)(stolen[0])


@pytest.mark.tiny
def test_what_has_no_place_in_a_graph() -> None:
    batch = gradiva.as_batch(np.zeros((4, 2, 2, 3), np.uint8), layout="HWC")
    with pytest.raises(TypeError, match="a batch has no place in a graph"):
        graph_of(lambda: fn.flip(batch))

    def with_list() -> Any:
        files, _ = fn.readers.file(file_root="/data")
        return fn.flip(fn.decoders.image(files), horizontal=[1, 0, 1, 0])

    with pytest.raises(TypeError, match="one value per sample has no place"):
        graph_of(with_list)

    def with_size() -> Any:
        return random.uniform(batch_size=4)

    with pytest.raises(ValueError, match="`batch_size`"):
        graph_of(with_size)
