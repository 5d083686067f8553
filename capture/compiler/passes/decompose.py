"""Take composite operators apart: their parts fuse with what stands before and after them."""

from __future__ import annotations

from typing import Any

from gradiva.capture.compiler.rewriter import Rewriter, rewrite
from gradiva.capture.graph.graph import Edge, Graph, Node
from gradiva.capture.graph.scopes import is_anchored
from gradiva.eager.gpu.fused_elementwise import gpu_kernel
from gradiva.eager.operators.fusion_roles import Resample, View
from gradiva.eager.operators.pixelwise import Pixelwise
from gradiva.ops.image.crop.crop import crop
from gradiva.ops.image.crop.crop_window import LAYOUTS
from gradiva.ops.image.crop.flip import flip
from gradiva.ops.image.normalize.crop_mirror_normalize import crop_mirror_normalize
from gradiva.ops.image.normalize.normalize_pixels import normalize_pixels
from gradiva.ops.indexing.transpose import transpose

__all__ = ["decompose"]

_WINDOW = ("crop", "crop_h", "crop_w", "crop_d")
_PLACE = (
    "crop_pos_x",
    "crop_pos_y",
    "crop_pos_z",
    "rounding",
    "out_of_bounds_policy",
    "fill_values",
)


def decompose(graph: Graph) -> Graph:
    """`crop_mirror_normalize` becomes crop, flip, normalize_pixels, transpose."""
    return rewrite(graph, _crop_mirror_normalize)


def _follows_resize(rewriter: Rewriter, node: Node) -> bool:
    """Whether its parts can join a resize: else it is one launch on a GPU as it is."""
    if any(gpu_kernel(part) is None for part in (crop, flip, normalize_pixels, transpose)):
        return False
    inner = node.inputs[0].node
    while rewriter.used_once(inner) and inner.device == node.device:
        role = inner.operator.fusion_role
        if isinstance(role, Resample):
            return True
        if not isinstance(role, View | Pixelwise):
            return False
        inner = inner.inputs[0].node
    return False


def _crop_mirror_normalize(rewriter: Rewriter, node: Node) -> Edge | None:
    if node.operator is not crop_mirror_normalize or node in rewriter.graph.kept:
        return None
    if is_anchored(node) or (node.device == "gpu" and not _follows_resize(rewriter, node)):
        return None
    source = node.inputs[0]
    layout = source.node.type[source.output].layout
    if layout not in LAYOUTS[:7]:
        return None  # not known yet, or more axes than its parts take
    if node.attribute("out_of_bounds_policy") == "pad" or node.attribute("pad_output"):
        return None  # what is filled in is not normalised
    attributes = dict(node.attributes)
    edges = {edge.argument: edge for edge in rewriter.inputs(node)}

    def call(operator: Any, image: Edge, names: tuple[str, ...], **renamed: str) -> Edge:
        """The operator with those of the composite's arguments that were given."""
        given, inputs = {}, [image]
        for name in (*names, *renamed):
            own = renamed.get(name, name)
            if own in attributes:
                given[name] = attributes[own]
            elif own in edges:
                inputs.append(Edge(edges[own].node, edges[own].output, name))
        return rewriter.add(node, operator, tuple(inputs), given)

    image = edges[None]
    if any(name in attributes or name in edges for name in _WINDOW):
        image = call(crop, image, _WINDOW + _PLACE)
    if "mirror" in edges or attributes.get("mirror", 0):
        image = call(flip, image, (), horizontal="mirror")
    image = call(normalize_pixels, image, ("mean", "std", "scale", "shift", "dtype"))
    wanted = attributes.get("output_layout", "CHW") or layout
    if wanted != layout:
        order = {"perm": tuple(layout.index(letter) for letter in wanted)}
        image = rewriter.add(node, transpose, (image,), order)
    return image
