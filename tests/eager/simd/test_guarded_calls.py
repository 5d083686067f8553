"""C functions that leave by a jump come back as an error, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from gradiva.eager.jit.jit import jit
from gradiva.eager.simd.c_calls import addresses
from gradiva.eager.simd.guarded_calls import (
    MARK_BYTES,
    call_guarded,
    can_guard,
    leaving_handler,
    silent_handler,
)
from gradiva.eager.types.arrays import Int64Array
from gradiva.ops.decoders.jpeg.library import CREATE, DESTROY, VERSION, jpeg_functions

pytestmark = pytest.mark.skipif(not can_guard(), reason="jumps are others here")
LEAVE, SILENT = 1, 2


@jit
def _called(memory: Int64Array, address: int, argument: int, times: int) -> int:
    """The sum of what a function returns that is called with the argument plus 0, 1, ..."""
    mark = memory.ctypes.data
    total = 0
    for number in range(times):
        if address == LEAVE:
            total += call_guarded(mark, leaving_handler(), mark + MARK_BYTES, 0, 0, 0)
        elif address == SILENT:
            total += min(call_guarded(mark, silent_handler(), mark, 0, 0, 0), 0)
        else:
            total += call_guarded(mark, address, argument + number, 0, 0, 0)
    return total


@jit
def _created(functions: Int64Array, memory: Int64Array, version: int, size: int) -> int:
    """What libjpeg says to structures of that version and size."""
    mark = memory.ctypes.data
    codec = mark + MARK_BYTES
    memory[MARK_BYTES // 8] = codec + 1024
    memory[MARK_BYTES // 8 + 128] = leaving_handler()
    memory[MARK_BYTES // 8 + 130] = silent_handler()
    answer = call_guarded(mark, functions[CREATE], codec, version, size, 0)
    call_guarded(mark, functions[DESTROY], codec, 0, 0, 0)
    return answer


def _memory() -> Int64Array:
    return np.zeros(4096, np.int64)


def test_returned_and_left() -> None:
    found = addresses("abs")
    assert found is not None
    assert _called(_memory(), int(found[0]), -10, 3) == 10 + 9 + 8
    assert _called(_memory(), LEAVE, 0, 100_000) == -100_000
    assert _called(_memory(), SILENT, 0, 1000) == 0


def test_a_library_that_refuses() -> None:
    """libjpeg knows its structures by version and size, and leaves where they are others."""
    functions = jpeg_functions()
    if functions is None:
        pytest.skip("Pillow has no libjpeg-turbo that can be called")
    assert _created(functions, _memory(), VERSION, 632) >= 0
    assert _created(functions, _memory(), VERSION + 18, 632) == -1
    assert _created(functions, _memory(), VERSION, 656) == -1
    assert _created(functions, _memory(), VERSION, 632) >= 0
