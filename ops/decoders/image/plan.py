"""What the shape rules of the image decoders find in the headers of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.decoders.jpeg.headers import jpeg_info
from gradiva.ops.decoders.jpeg.small import MOST_PIXELS
from gradiva.ops.decoders.jpeg.window import COLORS

HEIGHT, WIDTH, CHANNELS, ORIENTATION, LOSSY, SEQUENTIAL, SCALE = range(7)
COLOR_NAMES: Final = {number: name for name, number in COLORS.items()}
"""The colors that the codec makes by itself, by their numbers."""


class Headers:
    """The headers of the files of a batch: as numbers, with which all of them are planned at once,
    and as objects, for what decodes one file.

    rows: int64 (N, 7): the fields of `ImageInfo` that this module names; LOSSY and SEQUENTIAL say
    whether it is such a JPEG.
    """

    def __init__(self, plain: op.Int64Array) -> None:
        """plain: (N, 3), height, width and channels of upright baseline JPEGs of 8 bits. `put` says
        it of other files."""
        self.rows = np.ones((len(plain), 7), np.int64)
        self.rows[:, :3] = plain
        self._others: dict[int, ImageInfo] = {}
        self._direct: dict[tuple[str, bool], op.Int64Array] = {}

    @classmethod
    def of(cls, infos: Sequence[ImageInfo]) -> Headers:
        """These headers."""
        headers = cls(np.ones((len(infos), 3), np.int64))
        for sample, info in enumerate(infos):
            headers.put(sample, info)
        return headers

    def put(self, sample: int, info: ImageInfo) -> None:
        """Say what the header of one file is. To be called before `infos`."""
        kind = info.is_lossy_jpeg, info.is_sequential_jpeg
        extents = info.height, info.width, info.channels
        self.rows[sample] = *extents, info.orientation, *kind, info.scale
        self._others[sample] = info

    @cached_property
    def infos(self) -> list[ImageInfo]:
        """As objects. Files of one sort and size share one."""
        others = self._others
        return [
            others[sample] if sample in others else jpeg_info(*extents)
            for sample, extents in enumerate(self.rows[:, :3].tolist())
        ]

    def shapes(self, color: str, turn: bool) -> op.Int64Array:
        """(N, 3): what `output_shape` says of each. color: of `ImageType`; turn: whether images
        are made upright."""
        shapes = self.rows[:, :3].copy()
        if color != "ANY_DATA":
            shapes[:, 2] = 1 if color == "GRAY" else 3
        if turn and self._others:
            turned = self.rows[:, ORIENTATION] >= 5
            shapes[turned, :2] = shapes[turned, 1::-1]
        return shapes

    def direct_colors(self, color: str, turn: bool) -> op.Int64Array:
        """(N,): of each file whose bytes the codec can turn into the pixels of the output by
        itself (see `is_direct`), the number of its color in `COLORS`, which is all that it asks; 0
        of the others."""
        asked = color, turn
        if asked not in self._direct:
            self._direct[asked] = self._find_direct(color, turn)
        return self._direct[asked]

    def _find_direct(self, color: str, turn: bool) -> op.Int64Array:
        rows = self.rows
        if not self._others and color not in ("ANY_DATA", "YCbCr"):
            return np.full(len(rows), COLORS[color])
        direct = (rows[:, LOSSY] != 0) & (rows[:, CHANNELS] != 4) & (color != "YCbCr")
        if turn:
            direct &= rows[:, ORIENTATION] == 1
        if color == "ANY_DATA":
            colors = np.where(rows[:, CHANNELS] == 1, COLORS["GRAY"], COLORS["RGB"])
        else:
            colors = np.full(len(rows), COLORS.get(color, 0))
        return np.where(direct, colors, 0)

    def small_jpegs(self, colors: op.Int64Array) -> op.Int64Array:
        """(N, 4): height, width and channels of each file, and the number of the color that is
        wanted, 0 for one that is no JPEG for `decode_small_jpegs`. colors: what is wanted, 0 for
        files that are to be left out."""
        rows = self.rows
        facts = rows[:, :4].copy()
        fits = rows[:, HEIGHT] * rows[:, WIDTH] <= MOST_PIXELS
        if self._others:
            fits &= (rows[:, SEQUENTIAL] != 0) & (rows[:, SCALE] == 1)
        facts[:, 3] = colors * fits
        return facts


@dataclass(frozen=True)
class DecodePlan(op.Plan):
    """windows: int64 (N, 4): top, left, height, width of what is decoded of each upright image;
    None for whole images."""

    headers: Headers
    windows: op.Int64Array | None = None

    @classmethod
    def of(cls, call: op.Call) -> DecodePlan:
        """The plan of a call, after its shape rule."""
        assert isinstance(call.plan, cls)
        return call.plan

    @property
    def infos(self) -> list[ImageInfo]:
        """The headers as objects."""
        return self.headers.infos
