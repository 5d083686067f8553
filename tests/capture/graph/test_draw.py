"""Pictures of graphs: what they show, how boxes stand, and the command line that writes them."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradiva
from gradiva import fn, pipeline_def, random, types
from gradiva.__main__ import main
from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.labels import MOST, attribute_lines, card, shorten
from gradiva.capture.graph.layered_layout import arrange
from gradiva.capture.graph.layers import Link
from gradiva.capture.graph.svg import before_after, svg

SVG = "{http://www.w3.org/2000/svg}"


def graph_of(function: Any) -> Graph:
    return gradiva.pipeline_def(batch_size=4)(function)().graph


def train() -> Any:
    files, labels = fn.readers.file(file_root='/da<ta & "b"', random_shuffle=True, name="photos")
    images = fn.decoders.image(files, output_type=types.RGB)
    fn.resize(images, size=(8, 8))
    images = fn.crop_mirror_normalize(
        images, crop=(224, 224), mirror=fn.random.coin_flip(), mean=[1.5, 2.0, 3.0]
    )
    return images * 0.5, labels, random.uniform()


class Fused(Node):
    """A fused node as this room will see it: a node with members."""

    __slots__ = ("members",)
    members: tuple[Node, ...]


def fused(graph: Graph, names: tuple[str, ...]) -> Graph:
    """The graph with the operators of these names, which follow each other, as one node."""
    inside = tuple(node for node in graph if node.operator.name in names)
    edges = tuple(edge for node in inside for edge in node.inputs if edge.node not in inside)
    whole = Fused(inside[-1].operator, edges, (), inside[-1].type)
    object.__setattr__(whole, "members", inside)

    def moved(edge: Edge) -> Edge:
        return edge._replace(node=whole) if edge.node is inside[-1] else edge

    nodes = [node for node in graph if node not in inside]
    return Graph((*nodes, whole), tuple(map(moved, graph.outputs)), title=graph.title)


def augment() -> Any:
    files, labels = fn.readers.file(file_root="/data")
    images = fn.resize(fn.decoders.image(files), size=(8, 8))
    images = fn.flip(images, horizontal=fn.random.coin_flip())
    return fn.brightness_contrast(images, brightness=fn.random.uniform()), labels


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


@pytest.mark.tiny
def test_svg_shows_everything() -> None:
    graph = graph_of(train)
    root = parsed(graph._repr_svg_())
    shown = texts(root)
    for node in graph:
        if node.operator.name not in ("constant", "random_key"):
            assert node.operator.name in shown
    for text in ('"photos"', "output 0", "output 2", "key 0", "0.5", "mirror", "uint8 HWC"):
        assert text in shown, text
    assert "one value for all samples" in shown
    assert "train" in shown[0]
    assert "10 nodes" in shown[0]
    notes = [note.text or "" for note in root.iter(f"{SVG}title")]
    assert any("at " in note and "test_draw.py" in note for note in notes)
    # One arrow per edge; those that feed an argument are dashed.
    edges = sum(len(node.inputs) for node in graph) + len(graph.outputs)
    ways = [path for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    assert len(ways) == edges
    named = sum(edge.argument is not None for node in graph for edge in node.inputs)
    assert sum(path.get("stroke-dasharray") is not None for path in ways) == named


@pytest.mark.tiny
def test_kinds_differ_in_color() -> None:
    root = parsed(svg(graph_of(train)))
    fills = {rect.get("fill") for rect in root.iter(f"{SVG}rect")}
    assert len(fills) >= 7  # the background, and six kinds


def rectangles(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    found = []
    for group in root.iter(f"{SVG}g"):
        title = group.find(f"{SVG}title")
        rect = group.find(f"{SVG}rect")
        if title is not None and rect is not None:
            numbers = re.findall(r"-?[\d.]+", group.get("transform", ""))
            x, y = map(float, numbers)
            found.append((x, y, float(rect.get("width", 0)), float(rect.get("height", 0))))
    return found


@pytest.mark.tiny
def test_boxes_do_not_overlap_and_edges_go_down() -> None:
    boxes = rectangles(parsed(svg(wide(60))))
    assert len(boxes) == 62
    for index, (x, y, w, h) in enumerate(boxes):
        for left, top, width, height in boxes[index + 1 :]:
            apart = x + w <= left or left + width <= x or y + h <= top or top + height <= y
            assert apart


def wide(count: int) -> Graph:
    def program() -> Any:
        files, _ = fn.readers.file(file_root="/data")
        values = [fn.decoders.image(files)]
        draws = np.random.default_rng(0)
        while len(values) < count - 1:
            low = max(0, len(values) - 12)
            one, two = draws.integers(low, len(values), 2)
            values.append(values[one] + values[two])
        return values[-1], values[-2]

    graph = graph_of(program)
    # Equal sums are one node: fill up, so that the count is exact.
    extra = count - len(graph)
    last = graph.nodes[-1]
    chain = [last]
    for _ in range(extra):
        before = chain[-1]
        chain.append(Node(last.operator, (Edge(before, 0), Edge(before, 0)), (), before.type))
    return graph.with_([*graph.nodes, *chain[1:]])


@pytest.mark.tiny
def test_200_nodes_take_less_than_a_second() -> None:
    graph = wide(200)
    assert len(graph) == 200
    started = time.process_time()
    text = graph._repr_svg_()
    assert time.process_time() - started < 1
    assert len(rectangles(parsed(text))) == 202


@pytest.mark.tiny
def test_layout_has_no_needless_crossing() -> None:
    """Two chains that are listed crosswise are untangled, and each runs straight down."""
    links = [Link(0, 3, 20, 20), Link(1, 2, 20, 20), Link(2, 4, 20, 20), Link(3, 5, 20, 20)]
    layout = arrange([(40.0, 20.0)] * 6, links)
    for path in layout.paths:
        assert max(point.x for point in path) - min(point.x for point in path) < 1
        assert [point.y for point in path] == sorted(point.y for point in path)
    assert len({corner.y for corner in layout.corners}) == 3
    assert arrange([], []).width == 0


@pytest.mark.tiny
def test_long_links_pass_beside_boxes() -> None:
    links = [Link(0, 1, 50, 50), Link(1, 2, 50, 50), Link(0, 2, 50, 50, group=1)]
    layout = arrange([(100.0, 20.0)] * 3, links)
    middle = layout.corners[1]
    passing = [point.x for point in layout.paths[2][2:4]]
    assert all(x < middle.x or x > middle.x + 100 for x in passing)


@pytest.mark.tiny
def test_lines_are_short() -> None:
    def program() -> Any:
        files, _ = fn.readers.file(file_root="/a" * 200, file_filters=["*.a", "*.b"] * 20)
        return fn.crop_mirror_normalize(
            fn.decoders.image(files),
            crop=(4, 4),
            crop_pos_x=0.25,
            crop_pos_y=0.75,
            mean=[1.0] * 3,
            std=[2.0] * 3,
            fill_values=[3.0] * 3,
            pad_output=True,
            out_of_bounds_policy="pad",
            output_layout="HWC",
            dtype=types.FLOAT16,
        )

    graph = graph_of(program)
    for node in graph:
        lines = attribute_lines(node)
        assert len(lines) <= 5
        assert all(len(line) <= MOST for line in lines)
    assert attribute_lines(graph.nodes[-1])[-1].endswith("more")
    assert "/a" * 100 in card(graph.nodes[0], graph).note
    assert shorten("short") == "short"
    assert len(shorten("x" * 99)) == MOST


@pytest.mark.tiny
def test_fused_groups_are_boxes_around_their_members() -> None:
    graph = graph_of(augment)
    group = fused(graph, ("resize", "flip", "brightness_contrast"))
    root = parsed(svg(group))
    shown = texts(root)
    assert {"resize", "flip", "brightness_contrast", "horizontal", "brightness"} <= set(shown)
    frame = next(rect for rect in root.iter(f"{SVG}rect") if rect.get("stroke-dasharray"))
    inside = [node for node in group if getattr(node, "members", ())]
    assert len(inside) == 1
    area = float(frame.get("width", 0)) * float(frame.get("height", 0))
    others = [w * h for _, _, w, h in rectangles(root) if w * h != area]
    assert area > max(others)
    # 3 edges enter the group, 3 go on inside, 2 join members, 1 leaves the last one.
    ways = [path for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    plain = sum(len(node.inputs) for node in group) + len(group.outputs)
    assert len(ways) == plain + 3 + 2 + 1


@pytest.mark.tiny
def test_groups_that_the_compiler_makes() -> None:
    graph = optimize(graph_of(augment))
    (group,) = [node for node in graph if node.members]
    root = parsed(svg(graph))
    shown = texts(root)
    assert "fused" in shown
    assert {member.operator.name for member in group.members} <= set(shown)
    ways = [path for path in root.iter(f"{SVG}path") if path.get("fill") == "none"]
    plain = sum(len(node.inputs) for node in graph) + len(graph.outputs)
    inner = sum(len(member.inputs) for member in group.members)
    assert len(ways) == plain + inner + 1
    joined = plain + inner - len(group.inputs)
    assert graph.to_dot().count(" -> ") == joined
    assert len(re.findall(r"-->|\.->", graph.to_mermaid())) == joined


@pytest.mark.tiny
def test_before_and_after() -> None:
    before = graph_of(train)
    after = optimize(before)
    root = parsed(before_after(before, after)._repr_svg_())
    shown = texts(root)
    assert shown.count("readers.file") == 2
    assert shown.count("resize") == 1
    assert any("as recorded" in text and "10 nodes" in text for text in shown)
    assert any("compiled" in text and f"{len(after)} nodes" in text for text in shown)


@pytest.mark.tiny
def test_signs_that_xml_has_no_place_for_are_replaced() -> None:
    def program() -> Any:
        return fn.readers.file(file_root="/data", name="a\x00b\x1b")[0]

    graph = graph_of(program)
    assert '"a�b�"' in texts(parsed(graph._repr_svg_()))


@pytest.mark.tiny
def test_empty_graph() -> None:
    empty = Graph((), ())
    assert parsed(empty._repr_svg_()).tag == f"{SVG}svg"
    assert empty.to_mermaid().startswith("flowchart TB")
    assert "digraph" in empty.to_dot()


@pytest.mark.tiny
def test_dot() -> None:
    graph = graph_of(train)
    text = graph.to_dot()
    assert text.startswith('digraph "train" {')
    assert '[style=dashed, label="mirror"]' in text
    assert "file_root='/da<ta & \\\"b\\\"'" in text
    edges = sum(len(node.inputs) for node in graph) + len(graph.outputs)
    assert text.count(" -> ") == edges
    quotes = re.sub(r"\\.", "", text).count('"')
    assert quotes % 2 == 0
    group = fused(graph_of(augment), ("resize", "flip", "brightness_contrast")).to_dot()
    assert group.count("subgraph cluster_") == 1
    assert group.count("{") == group.count("}") == 2


@pytest.mark.tiny
def test_mermaid() -> None:
    text = graph_of(train).to_mermaid()
    assert text.startswith("flowchart TB\n")
    assert '-. "mirror" .->' in text
    labels = re.findall(r'"([^"]*)"', text)
    assert labels
    for label in labels:
        bare = re.sub(r"</?[bi]>|<br/>|#\d+;", "", label)
        assert not set(bare) & set("<>&\"'`#;{}[]")
    assert "#60;" in text  # the `<` in the path
    group = fused(graph_of(augment), ("resize", "flip", "brightness_contrast")).to_mermaid()
    assert group.count("subgraph ") == 1
    assert group.count("\n  end\n") == 1


@pytest.mark.tiny
def test_a_pipeline_shows_its_graph(photographs: Path) -> None:
    @gradiva.pipeline_def(batch_size=2, num_threads=1)
    def program() -> Any:
        files, labels = fn.readers.file(file_root=str(photographs))
        fn.decoders.image(files)
        return labels

    pipe = program()
    assert "decoders.image" in pipe.graph._repr_svg_()
    pipe.build()
    assert "decoders.image" not in pipe.graph._repr_svg_()
    pipe.close()


SCRIPT = """
import gradiva
from gradiva import fn

@gradiva.pipeline_def(batch_size=4)
def train():
    files, labels = fn.readers.file(file_root="/data")
    images = fn.decoders.image(files)
    fn.flip(images)
    return fn.resize(images, size=(4, 4)), labels

def augment(images, factor=2):
    return gradiva.flip(images, horizontal=1) * factor

@gradiva.pipeline_def(batch_size=4)
def needs(root):
    return fn.readers.file(file_root=root)[0]

if __name__ == "__main__":
    raise RuntimeError("scripts are not run")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "user.py"
    file.write_text(SCRIPT)
    return file


@pytest.mark.tiny
def test_command_prints_both_graphs(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.svg"
    assert main(["graph", f"{script}:train", "--svg", str(out)]) == 0
    recorded, compiled = capsys.readouterr().out.split("# compiled")
    assert "flip(" in recorded
    assert "flip(" not in compiled
    assert "resize(" in compiled
    assert texts(parsed(out.read_text("utf-8"))).count("resize") == 2
    assert main(["graph", f"{script}:train", "--dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph")
    assert main(["graph", f"{script}:augment", "--mermaid"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("flowchart")
    assert "#34;images#34;" in printed


@pytest.mark.tiny
def test_command_finds_the_only_pipeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.py"
    file.write_text(SCRIPT.split("def augment", maxsplit=1)[0] + "\npipe = train()\n")
    assert main(["graph", str(file)]) == 0
    assert "train {" in capsys.readouterr().out
    assert main(["graph", f"{file}:pipe"]) == 0
    assert "train {" in capsys.readouterr().out


@pytest.mark.tiny
def test_command_says_what_is_wrong(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing, broken, leaves = (tmp_path / f"{name}.py" for name in ("nothing", "broken", "leaves"))
    nothing.write_text("x = 1\n")
    broken.write_text("def (\n")
    leaves.write_text("raise SystemExit(0)\n")
    wrong = {
        str(nothing): "has no pipeline",
        str(broken): "SyntaxError",
        str(leaves): "SystemExit",
        str(tmp_path / "nowhere.py"): "there is no file",
        str(tmp_path): "there is no file",
        f"{script}:nix": "has no `nix`; its pipelines: train, needs",
        f"{script}:gradiva": "is no pipeline and no function",
        f"{script}:needs": "needs arguments (root)",
        str(script): "several pipelines: name one of train, needs",
    }
    for place, message in wrong.items():
        assert main(["graph", place]) == 1, place
        assert message in capsys.readouterr().err
    assert main(["graph", f"{script}:train", "--svg", str(tmp_path / "no" / "x.svg")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_compiled_function_shows_its_graph() -> None:
    def mirrored(images: Any) -> Any:
        return gradiva.flip(images, horizontal=random.coin_flip(batch_size=2))

    fast = gradiva.capture.compile(mirrored)
    fast(gradiva.as_batch(np.zeros((2, 4, 4, 3), np.uint8), layout="HWC"))
    assert repr(fast).endswith("1 compilation>")
    assert fast.graph is not None
    (key,) = (node for node in fast.graph if node.operator.name == "random_key")
    title = f"key of call {key.attribute('slot')}"
    assert title in texts(parsed(fast.graph._repr_svg_()))
    assert title in fast.graph.to_dot()
    assert title in fast.graph.to_mermaid()


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("take", "expected"),
    [
        (lambda images: images[0], "[0]"),
        (lambda images: images[1:-1, ::2], "[1:-1, ::2]"),
        (lambda images: images[..., :3], "[..., :3]"),
        (lambda images: images[gradiva.newaxis("F"), 5], "[newaxis('F'), 5]"),
        (lambda images: images[gradiva.newaxis], "[newaxis]"),
        (lambda images: images[random.choice(4) :], "[?:]"),
    ],
)
def test_subscripts_are_shown_as_they_are_written(take: Any, expected: str) -> None:
    def part() -> Any:
        return take(fn.external_source(lambda: np.zeros((2, 9, 9, 4)), layout="HWC"))

    (node,) = (node for node in graph_of(part) if node.operator.name == "subscript")
    assert attribute_lines(node) == (expected,)


@pytest.mark.tiny
def test_branches_have_short_names() -> None:
    @gradiva.pipeline_def(batch_size=2, enable_conditionals=True)
    def either() -> Any:
        images = fn.external_source(lambda: np.zeros((2, 4, 4, 3), np.uint8), layout="HWC")
        if fn.random.coin_flip():
            images = fn.flip(images)
        return images

    shown = texts(parsed(either().graph._repr_svg_()))
    assert {"split", "merge"} < set(shown)
    assert not any("_conditional" in text for text in shown)


def test_both_graphs_of_a_pipeline() -> None:
    """Before a pipeline is built and after it; a graph beside itself is refused."""

    @pipeline_def(batch_size=1, num_threads=1)
    def pipeline() -> Any:
        files, _ = fn.readers.file(files=["a.jpg"])
        return fn.crop(fn.resize(fn.decoders.image(files), size=(8, 8)), crop=(4, 4))

    pipe = pipeline()
    recorded = pipe.graph
    assert str(pipe.recorded_graph) == str(recorded)
    pipe.build()
    pair = before_after(pipe)
    assert str(pair.before) == str(recorded)
    assert pair.after is pipe.graph
    assert len(pair.after) < len(pair.before)
    with pytest.raises(gradiva.OperatorValueError, match=r"before_after\(pipe\)"):
        before_after(pair.after, pair.after)
    with pytest.raises(gradiva.OperatorTypeError, match="`after`"):
        before_after(pipe.graph)
    pipe.close()
