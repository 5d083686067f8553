"""Whether libjpeg's structures are laid out as `library` says: seen before anything is written to
them.

A library checks its version and the size of one structure. Where it has moved fields all the same,
a number that is written to a wrong place, or an address that is read from one, would end the
process. So a small file is opened first, by functions that get nothing but the address of the
structures; errors leave by our own handler. Then all fields must have the values that they have of
this file. What an address points to is read by the system, which refuses a wrong one.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

import numpy as np

from gradiva.eager.jit.jit import jit
from gradiva.eager.simd.guarded_calls import (
    MARK_BYTES,
    call_guarded,
    leaving_handler,
    silent_handler,
)
from gradiva.eager.types.arrays import Array, Int64Array

from .library import (
    CREATE,
    DESTROY,
    MEM_SRC,
    READ_HEADER,
    START,
    STD_ERROR,
    VERSION,
    Component,
    Decompress,
    ErrorManager,
)

TEST_SIZE: Final = 61, 83
"""Height and width of the file: no other field has these values."""
_FACTS: Final = {
    "image_width": 83, "image_height": 61, "num_components": 3, "jpeg_color_space": 3,
    "out_color_space": 2, "scale_num": 1, "scale_denom": 1, "output_gamma": 1.0,
    "buffered_image": 0, "raw_data_out": 0, "dct_method": 0, "do_fancy_upsampling": 1,
    "do_block_smoothing": 1, "quantize_colors": 0, "dither_mode": 2, "two_pass_quantize": 1,
    "desired_number_of_colors": 256, "output_width": 83, "output_height": 61,
    "out_color_components": 3, "output_components": 3, "output_scanline": 0, "data_precision": 8,
    "progressive_mode": 0, "saw_JFIF_marker": 1, "max_h_samp_factor": 2, "max_v_samp_factor": 2,
    "min_DCT_scaled_size": 8, "total_iMCU_rows": 4, "comps_in_scan": 3, "MCUs_per_row": 6,
    "MCU_rows_in_scan": 4, "Ss": 0, "Se": 63, "Ah": 0, "Al": 0, "unread_marker": 0,
}  # fmt: skip
"""Once decoding has started: libjpeg's defaults, and what the file says."""
_TABLES: Final = "quant_tbl_ptrs", "dc_huff_tbl_ptrs", "ac_huff_tbl_ptrs"
_COMPONENTS: Final = [(1, 0, 2, 2), (2, 1, 1, 1), (3, 2, 1, 1)]
"""Name, number and sampling factors of each component, of 4:2:0."""


@jit
def _call(state: Int64Array, function: int, first: int, second: int) -> int:
    """What a function returns for the structure behind the mark; -1: it was left by an error."""
    mark = state.ctypes.data
    return call_guarded(mark, function, mark + MARK_BYTES, first, second, 0)


@jit
def _find_handlers(found: Int64Array) -> None:
    """The addresses of the two handlers, which are compiled with this kernel."""
    found[0], found[1] = leaving_handler(), silent_handler()


def misplaced_field(functions: Int64Array, file: Array) -> str:
    """What is not where it should be, "" if all is right.

    functions: as `jpeg_functions` finds them; file: a JPEG of `TEST_SIZE` in 4:2:0 with two kinds
    of tables, and stray bytes in its header, about which libjpeg warns once.
    """
    handlers = np.zeros(2, np.int64)
    _find_handlers(handlers)
    state = np.zeros(MARK_BYTES // 8 + 1024, np.int64)  # more room than our structures need
    codec = Decompress.from_buffer(state.data, MARK_BYTES)
    manager = ErrorManager.from_buffer(state.data, MARK_BYTES + 4096)
    place = ctypes.addressof(manager)
    ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(int(functions[STD_ERROR]))(place)
    manager.error_exit, manager.output_message = handlers.tolist()
    codec.err = place
    try:
        return _difference(functions, state, codec, manager, file)
    finally:
        _call(state, functions[DESTROY], 0, 0)


def _difference(
    functions: Int64Array, state: Int64Array, codec: Decompress, manager: ErrorManager, file: Array
) -> str:
    def call(function: int, first: int = 0, second: int = 0) -> int:
        return int(_call(state, functions[function], first, second))

    if call(CREATE, VERSION, ctypes.sizeof(Decompress)) < 0:
        return "its structures have another version or size"
    if call(MEM_SRC, file.ctypes.data, file.size) < 0 or call(READ_HEADER, 1) != 1:
        return "it does not read a header"
    source = _read_memory(codec.src, 16)
    next_byte, left = np.frombuffer(source or bytes(16), np.int64).tolist()
    if next_byte + left != file.ctypes.data + file.size or not 0 < left < file.size:
        return "src"
    if call(START) != 1:
        return "it does not start"
    for name, value in _FACTS.items():
        if getattr(codec, name) != value:
            return name
    if manager.num_warnings != 1:
        return "num_warnings"
    tables = [[bool(one) for one in getattr(codec, name)] for name in _TABLES]
    if tables != [[True, True, False, False]] * 3:
        return "tables"
    # Those of quantizers come first, and begin with the first one in 16 bits; others with zeros.
    first = _read_memory(codec.quant_tbl_ptrs[0], 2)
    if first != bytes([file[file.tobytes().index(b"\xff\xdb") + 5], 0]):
        return _TABLES[0]
    size = ctypes.sizeof(Component)
    table = _read_memory(codec.comp_info, 3 * size) or bytes(3 * size)
    found = [Component.from_buffer_copy(table, k * size) for k in range(3)]
    names = "component_id", "component_index", "h_samp_factor", "v_samp_factor"
    given = [tuple(getattr(one, name) for name in names) for one in found]
    return "" if given == _COMPONENTS else "comp_info"


def _read_memory(address: int | None, size: int) -> bytes | None:
    """The bytes at an address; None if it does not belong to this process."""
    reader, writer = os.pipe()
    try:
        write = ctypes.CDLL(None).write
        write.restype = ctypes.c_ssize_t
        done = write(writer, ctypes.c_void_p(address), ctypes.c_size_t(size))
        return os.read(reader, size) if done == size else None
    finally:
        os.close(reader)
        os.close(writer)
