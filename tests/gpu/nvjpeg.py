"""The stand-in for nvJPEG on the simulated GPU: pixels come when the stream comes to them. Not a
test itself."""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gradiva.eager.runtime.host_memory import _Lease
from gradiva.eager.types.batch_shape import BatchShape
from gradiva.eager.types.dtypes import uint8
from gradiva.eager.types.provenance import Provenance
from gradiva.eager.types.sample_type import SampleType
from gradiva.eager.values.batch import Batch
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.jpeg.gpu import decoder_pool
from gradiva.ops.decoders.jpeg.gpu.declarations import Output
from gradiva.ops.decoders.jpeg.gpu.library import Library
from tests.ops.decoders.nvjpeg_fake import FakeNvjpeg

from .simulated import SimulatedRuntime, simulated


class SimulatedNvjpeg(FakeNvjpeg):
    """Finds files by their addresses in a batch of its own, whose bytes go when it is let go; else
    by what is in them."""

    def __init__(self, gpu: SimulatedRuntime, engines: int, slow: bool) -> None:
        self.numbers: dict[bytes, int] = {}
        super().__init__(gpu, engines, slow)

    def _file(self, address: int, length: int) -> tuple[int, int]:
        if address in self.files:
            return super()._file(address, length)
        return self.numbers[ctypes.string_at(address, length)], next(self.serial)

    def _pixels(
        self, source: dict[str, Any], settings: dict[str, Any], row: np.ndarray[Any, Any]
    ) -> Any:
        data = ctypes.string_at(source["address"], source["length"])
        info = probe(np.frombuffer(data, np.uint8))
        _, _, width, height = settings["roi"]
        height = info.height if height < 0 else height
        width = info.width if width < 0 else width
        planes = info.channels if settings["output"] == Output.UNCHANGED else 1
        last = int(row[planes - 1])
        across = width * (3 if settings["output"] in (Output.RGBI, Output.BGRI) else 1)
        return "pixels", int(row[0]), last + (height - 1) * int(row[3 + planes]) + across

    def _end(self, first: int) -> int:
        gpu: SimulatedRuntime = self.gpu  # type: ignore[assignment]
        block = gpu._block(first)
        return 0 if block is None else block + gpu._blocks[block].size

    def batch(self, contents: Sequence[bytes], first: int = 0) -> Batch:
        """A batch of files that the stand-in knows by their number, with names and positions."""
        sizes = np.array([[len(content)] for content in contents], np.int64).reshape(-1, 1)
        batch_shape = BatchShape.of(sizes)
        memory = np.zeros(max(batch_shape.size, 1), np.uint8)
        owner = _Owner(memory, batch_shape.size, deque[Any]().append, keep=False)
        data = np.asarray(owner)
        numbers = []
        for number, (content, start) in enumerate(
            zip(contents, batch_shape.offsets.tolist(), strict=True)
        ):
            data[start : start + len(content)] = np.frombuffer(content, np.uint8)
            serial = next(self.serial)
            self.files[data.ctypes.data + start] = number, len(content), serial
            numbers.append((serial, data.ctypes.data + start))
            self.numbers[content] = number
        weakref.finalize(owner, self._let_go, memory, numbers).atexit = False
        where = Provenance(
            np.arange(first, first + len(contents), dtype=np.int64),
            [f"file{number}" for number in range(len(contents))],
        )
        return Batch.over(data, batch_shape, SampleType(uint8, 1, ""), where)

    def _let_go(self, memory: np.ndarray[Any, Any], numbers: list[tuple[int, int]]) -> None:
        memory[...] = 0xEE
        for serial, address in numbers:
            self._gone(serial, address)


class _Owner(_Lease):
    """Memory of a pool, as that of readers, of which it is told when it goes."""

    __slots__ = ()


@contextmanager
def decoding(
    monkeypatch: pytest.MonkeyPatch, engines: int = 7, slow: bool = False, **options: Any
) -> Iterator[SimulatedNvjpeg]:
    """A simulated GPU with the stand-in for nvJPEG, of which nothing may be left at the end."""
    with simulated(**options) as gpu:
        fake = SimulatedNvjpeg(gpu, engines, slow)
        monkeypatch.setattr(decoder_pool, "load", lambda: Library(fake))
        yield fake
    assert fake.live == {}
