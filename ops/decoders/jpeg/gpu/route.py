"""Which decoder each image goes to: a pure function of a table.

The path of an image depends on the image and the options alone, never on the rest of its batch: the
decoders round differently, and the same file must give the same bits in any batch and in any mode.
So the load of the hardware engine is a share of all files (`JpegFrame.share`), not of each batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.image_info import SEQUENTIAL

from .declarations import Output, Subsampling
from .frame import JpegFrame


class Path(IntEnum):
    """The four ways to decode an image."""

    HOST = 0
    """libjpeg-turbo or another codec on the CPU; pixels are copied."""
    HYBRID = 1
    """Huffman code on a host thread, the rest on the device."""
    GPU_HYBRID = 2
    """Huffman code on the device, too."""
    HARDWARE = 3
    """The JPEG engine."""


class Reason(IntEnum):
    """Why an image cannot go further than to its path."""

    NONE = 0
    FORMAT = 1
    DAMAGE = 2
    CODING = 3
    PRECISION = 4
    SAMPLING = 5
    COLOR = 6
    PROGRESSIVE = 7
    SCANS = 8
    UPSAMPLING = 9


_MANY = 4
_OF_ONE = 0.65


@dataclass(frozen=True, slots=True)
class Options:
    """What a decoder was asked for, and what the machine has.

    output_type: RGB, BGR, GRAY, YCbCr or ANY_DATA. hw_decoder_load: the share of the images that
    the engine can decode and that it gets, 0 to 1; None for what suits the GPU.
    hybrid_huffman_threshold: images of more pixels than this have their Huffman code undone on the
    device. jpeg_fancy_upsampling: smooth chroma. engines: how many there are.

    Raises OperatorTypeError and OperatorValueError for values that make no sense.
    """

    output_type: str = "RGB"
    hw_decoder_load: float | None = None
    hybrid_huffman_threshold: int = 1_000_000
    jpeg_fancy_upsampling: bool = False
    engines: int = 1

    def __post_init__(self) -> None:
        for name in ("hw_decoder_load", "hybrid_huffman_threshold"):
            value = getattr(self, name)
            if name == "hw_decoder_load" and value is None:  # the other has to be given
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise op.wrong_type(name, "a number", op.describe(value))
        if self.hw_decoder_load is not None and not 0 <= self.hw_decoder_load <= 1:
            raise op.wrong_value("hw_decoder_load", "0 to 1", self.hw_decoder_load)
        if not self.hybrid_huffman_threshold >= 0:
            raise op.wrong_value(
                "hybrid_huffman_threshold", "at least 0", self.hybrid_huffman_threshold
            )

    @property
    def load(self) -> float:
        """`hw_decoder_load`, or what suits the GPU: many engines (7 on a H200) decode 35,000 images
        a second, the threads beside them 5,000; a single one (A100) is helped by them."""
        if self.hw_decoder_load is not None:
            return self.hw_decoder_load
        return 1.0 if self.engines >= _MANY else _OF_ONE


TABLE = np.dtype(
    [
        ("best", np.int8),  # the furthest Path that this image can take
        ("reason", np.int8),  # why not further
        ("format", np.int8),  # the Output to ask for
        ("subsampling", np.int8),
        ("area", np.int64),  # pixels
        ("share", np.float64),
    ]
)
"""One row per image."""

_HARDWARE_SUBSAMPLING = frozenset(
    Subsampling[name] for name in ("CSS_444", "CSS_422", "CSS_420", "CSS_440", "GRAY")
)


def table(frames: Sequence[JpegFrame | None], options: Options) -> np.ndarray[Any, Any]:
    """The table of a batch. None stands for a file that is no JPEG, or unreadable."""
    rows = np.zeros(len(frames), TABLE)
    for index, frame in enumerate(frames):
        if frame is None:
            rows["reason"][index] = Reason.FORMAT
            continue
        best, reason = _judge(frame, options)
        area = frame.info.height * frame.info.width
        output = _output(frame, options.output_type)
        rows[index] = (best, reason, output, frame.subsampling, area, frame.share)
    return rows


def _judge(frame: JpegFrame, options: Options) -> tuple[Path, Reason]:
    """The furthest path, and what bars the next one."""
    coding, channels = frame.info.coding, frame.info.channels
    if frame.info.bits != 8:
        return Path.HOST, Reason.PRECISION
    if coding not in (*SEQUENTIAL, "progressive"):
        return Path.HOST, Reason.CODING
    if frame.damage:
        return Path.HOST, Reason.DAMAGE
    if frame.subsampling == Subsampling.UNKNOWN or (channels == 1 and not frame.plain_factors):
        return Path.HOST, Reason.SAMPLING
    raw = channels == 4 or frame.stored_rgb
    if raw and options.output_type == "GRAY" and channels == 3:
        return Path.HOST, Reason.COLOR  # the CPU weighs its planes; the library would take one
    if raw and frame.subsampling != Subsampling.CSS_444:
        return Path.HOST, Reason.COLOR  # raw planes of unequal sizes
    if raw:
        return Path.HYBRID, Reason.COLOR
    if coding == "progressive":
        return Path.GPU_HYBRID, Reason.PROGRESSIVE
    if not frame.interleaved or coding != "baseline":
        return Path.GPU_HYBRID, Reason.SCANS if coding == "baseline" else Reason.CODING
    if frame.subsampling not in _HARDWARE_SUBSAMPLING or not frame.plain_factors:
        return Path.GPU_HYBRID, Reason.SAMPLING
    whole = frame.subsampling in (Subsampling.CSS_444, Subsampling.GRAY)
    if options.jpeg_fancy_upsampling and not whole:
        return Path.GPU_HYBRID, Reason.UPSAMPLING  # the engine has one way to do it
    return Path.HARDWARE, Reason.NONE


def _output(frame: JpegFrame, output_type: str) -> Output:
    if frame.info.channels == 4 or frame.stored_rgb:
        return Output.UNCHANGED
    if output_type == "GRAY" or (output_type == "ANY_DATA" and frame.info.channels == 1):
        return Output.Y
    return Output.BGRI if output_type == "BGR" else Output.RGBI


@dataclass(frozen=True, slots=True)
class Routes:
    """The path of each image, and the order in which each path takes its images.

    hardware: batches for the engine, each of one output format: an array of indices, by
    subsampling, then by area, the largest first. hybrid: indices, the largest first, so that no
    thread ends with a large one; it covers both hybrid paths. host: indices, in order.
    """

    path: np.ndarray[Any, np.dtype[np.int8]]
    hardware: tuple[np.ndarray[Any, Any], ...]
    hybrid: np.ndarray[Any, Any]
    host: np.ndarray[Any, Any]


def route(rows: np.ndarray[Any, Any], options: Options) -> Routes:
    """Send each row of the table on its way."""
    best = rows["best"]
    path = np.minimum(best, np.int8(Path.GPU_HYBRID))
    large = rows["area"] > options.hybrid_huffman_threshold
    path[(path == Path.GPU_HYBRID) & ~large] = Path.HYBRID
    if options.engines:
        path[(best == Path.HARDWARE) & (rows["share"] < options.load)] = Path.HARDWARE
    # lexsort is stable, so that equal images keep their order and a batch its sequence of calls
    order = np.lexsort((-rows["area"], rows["subsampling"], rows["format"]))
    engine = order[path[order] == Path.HARDWARE]
    formats = rows["format"][engine]
    cuts = np.flatnonzero(formats[1:] != formats[:-1]) + 1
    batches = tuple(np.split(engine, cuts)) if engine.size else ()
    by_area = np.argsort(-rows["area"], kind="stable")
    hybrid = by_area[(path[by_area] == Path.HYBRID) | (path[by_area] == Path.GPU_HYBRID)]
    return Routes(path, batches, hybrid, np.flatnonzero(path == Path.HOST))
