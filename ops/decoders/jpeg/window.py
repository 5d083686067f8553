"""A window of a JPEG, without decoding what lies around it, by libjpeg-turbo itself.

Blocks of pixels left and right of the window are not transformed, rows above it are read and
dropped, and what follows below is not read. Smooth chroma looks at the next column: so a block more
is decoded on each side, and left out. The rows below that it looks at are the library's affair.

Nothing is judged here: of a file about which the library has anything to say, be it an error or a
warning, nothing is taken, and the caller goes another way. So damage is judged in one place, as for
whole images. Of what follows below the window only so much is looked at that a file which was cut
there is not taken.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Final

import numpy as np

from gradiva.eager.jit.background_kernel import BackgroundKernel
from gradiva.eager.jit.jit import jit
from gradiva.eager.runtime.host_memory import allocate
from gradiva.eager.simd.c_calls import call_c
from gradiva.eager.simd.guarded_calls import (
    MARK_BYTES,
    call_guarded,
    leaving_handler,
    silent_handler,
)
from gradiva.eager.types.arrays import Array, I32Vector, Int64Array
from gradiva.ops.decoders.image_info import ImageInfo, Window

from .codec import decode_whole, encoded_sample, has_simplejpeg
from .cpu import decode_jpeg
from .library import (
    COPY,
    CREATE,
    CROP,
    DESTROY,
    FIND_BYTE,
    HAS_MULTIPLE_SCANS,
    MEM_SRC,
    READ,
    READ_HEADER,
    SKIP,
    START,
    STD_ERROR,
    VERSION,
    Component,
    Decompress,
    ErrorManager,
    jpeg_functions,
    warn_of_library,
)
from .rows import WORTH, decode_jpeg_rows
from .segments import END
from .self_test import TEST_SIZE, misplaced_field

_background = BackgroundKernel()

_MANY_PIXELS: Final = 1 << 16
"""So many that are left out pay for the kernel as a sample does whose kernel saves microseconds."""
COLORS: Final = {"GRAY": 1, "RGB": 6, "BGR": 8}
"""J_COLOR_SPACE: JCS_GRAYSCALE, JCS_EXT_RGB, JCS_EXT_BGR."""

# Where things are in the memory of one decoding, in bytes from its beginning.
CODEC: Final = MARK_BYTES
_CODEC_BYTES: Final = ctypes.sizeof(Decompress)
_MANAGER: Final = CODEC + _CODEC_BYTES
_COMPONENT_BYTES: Final = ctypes.sizeof(Component)
_COMPONENTS: Final = _MANAGER + ctypes.sizeof(ErrorManager)
_SLOTS: Final = _COMPONENTS + 3 * _COMPONENT_BYTES
_AT_ONCE: Final = 8
"""Rows that are asked for in one call."""
STATE_BYTES: Final = _SLOTS + 8 * (3 + _AT_ONCE)
# The same as places in arrays of 64-bit words, and of 32-bit ones.
_MANAGER_POINTER: Final = CODEC // 8
_SOURCE: Final = (CODEC + Decompress.src.offset) // 8
_COMPONENT_TABLE: Final = (CODEC + Decompress.comp_info.offset) // 8
_ERROR_EXIT: Final = (_MANAGER + ErrorManager.error_exit.offset) // 8
_OUTPUT_MESSAGE: Final = (_MANAGER + ErrorManager.output_message.offset) // 8
WARNINGS: Final = (_MANAGER + ErrorManager.num_warnings.offset) // 8
TABLES: Final = (CODEC + Decompress.quant_tbl_ptrs.offset) // 8
"""Twelve addresses, of what is kept from one file to the next, so that others may leave it out."""
_NEXT, _LEFT_BYTES, _CROP_PAIR, _ROWS = range(_SLOTS // 8, _SLOTS // 8 + 4)
_FILE_CHANNELS: Final = (CODEC + Decompress.num_components.offset) // 4
_COLOR: Final = (CODEC + Decompress.out_color_space.offset) // 4
_SCALE_ABOVE: Final = (CODEC + Decompress.scale_num.offset) // 4
_SCALE_BELOW: Final = (CODEC + Decompress.scale_denom.offset) // 4
_TRANSFORM: Final = (CODEC + Decompress.dct_method.offset) // 4
WIDTH: Final = (CODEC + Decompress.output_width.offset) // 4
HEIGHT: Final = (CODEC + Decompress.output_height.offset) // 4
_CHANNELS: Final = (CODEC + Decompress.out_color_components.offset) // 4
_ACROSS: Final = (CODEC + Decompress.max_h_samp_factor.offset) // 4
_BLOCK: Final = (CODEC + Decompress.min_DCT_scaled_size.offset) // 4
_MARKER: Final = (CODEC + Decompress.unread_marker.offset) // 4
_SAMPLING: Final = (_COMPONENTS + Component.h_samp_factor.offset) // 4
_STRIDE: Final = _COMPONENT_BYTES // 4

OK: Final = 1  # JPEG_HEADER_OK, and TRUE


def leaves_enough_out(info: ImageInfo, window: Window) -> bool:
    """Whether it pays to decode the window instead of the image."""
    return _left_out(info, window) >= WORTH


def _left_out(info: ImageInfo, window: Window) -> int:
    """How many pixels are not in the window."""
    return info.height * info.width - window[2] * window[3]


def jpeg_window(data: Array, info: ImageInfo, color: str, fast_idct: bool, window: Window) -> Array:
    """The window of the image as stored. ``color`` as in ``decode_jpeg``, whose errors it
    raises."""
    top, left, height, width = window
    if info.channels not in (1, 3):
        image = decode_jpeg(data, info, color, None, fast_idct)
        return image[top : top + height, left : left + width]
    channels = 1 if color == "GRAY" else 3
    # For the whole image, however little is wanted: so that images of one size share it.
    memory = allocate(info.height * info.width * channels, np.dtype(np.uint8))
    first, pitch = decode_jpeg_window(data, info, color, window, fast_idct, memory)
    return window_at(first, pitch, (height, width, channels), memory)


def decode_jpeg_window(
    data: Array, info: ImageInfo, color: str, window: Window, fast_idct: bool, memory: Array
) -> tuple[int, int]:
    """Decode a window of the image as stored, and leave it where it comes to lie in ``memory``.

    The file has 1 or 3 channels; ``color`` is RGB, BGR or GRAY. ``memory`` is uint8, 1-D and has
    room for the whole image. Returns the element at which the window begins, and the elements from
    one of its rows to the next. Raises as ``decode_jpeg`` does.
    """
    if _is_for_us(info, window):
        found = _decode(data, info, color, window, fast_idct, memory)
        if found is not None:
            return found
    top, left, height, _ = window
    channels = 1 if color == "GRAY" else 3
    pitch = info.width * channels
    whole = memory[: info.height * pitch].reshape(info.height, info.width, channels)
    decode_jpeg_rows(data, info, color, top + height, fast_idct, whole)
    return top * pitch + left * channels, pitch


def fill_jpeg_window(
    data: Array, info: ImageInfo, color: str, window: Window, fast_idct: bool, out: Array
) -> bool:
    """Like `decode_jpeg_window`, but into ``out``, uint8 of the window's shape and C-contiguous:
    row after row, by way of memory that stays in the cache. Returns whether it could be done; else
    `out` holds nothing of value."""
    if not _is_for_us(info, window):
        return False
    row = np.empty(info.width * out.shape[2], np.uint8)
    return _decode(data, info, color, window, fast_idct, row, out) is not None


def _is_for_us(info: ImageInfo, window: Window) -> bool:
    if not info.is_sequential_jpeg or not leaves_enough_out(info, window):
        return False
    count = 1 + _left_out(info, window) // _MANY_PIXELS
    return _background.is_worth_compiling(count, window_decoder_works) and window_decoder_works()


def window_at(first: int, pitch: int, shape: tuple[int, int, int], memory: Array) -> Array:
    """The window that `decode_jpeg_window` has left in ``memory``, as an array of that shape."""
    return np.ndarray(shape, memory.dtype, memory, first, (pitch, shape[2], 1))


@functools.cache
def window_decoder_works() -> bool:
    """Whether there is a libjpeg-turbo here that gives the bits of the codec for whole images. A
    few windows are decoded to see it, when it is first asked; where one should do and does not, it
    warns."""
    functions = jpeg_functions()
    if functions is None:
        return False
    problem = ""
    for subsampling in ("420", "422", "444"):
        data = encoded_sample(*TEST_SIZE, subsampling)
        if subsampling == "420":
            scan = data.tobytes().index(b"\xff\xda")
            problem = misplaced_field(functions, np.insert(data, scan, 0))
        if not problem and not all(_is_as_whole(data, fast) for fast in {False, has_simplejpeg()}):
            problem = "its pixels differ"
        if problem:
            warn_of_library(problem)
            return False
    return True


def _is_as_whole(data: Array, fast_idct: bool) -> bool:
    whole = np.empty((*TEST_SIZE, 3), np.uint8)
    decode_whole(data, "RGB", whole, fast_idct)
    height, width, channels = whole.shape
    info = ImageInfo("jpeg", height, width, 3, color="ycbcr", coding="baseline")
    memory = np.empty(whole.size, np.uint8)
    for window in ((0, 0, height, 20), (19, 37, 5, 11), (33, 50, height - 33, width - 50)):
        found = _decode(data, info, "RGB", window, fast_idct, memory)
        if found is None:
            return False
        top, left, rows, columns = window
        part = window_at(*found, (rows, columns, channels), memory)
        if not np.array_equal(part, whole[top : top + rows, left : left + columns]):
            return False
    # Its errors arrive, too.
    return _decode(data[:100], info, "RGB", (0, 0, height, 20), False, memory) is None


def _decode(
    data: Array,
    info: ImageInfo,
    color: str,
    window: Window,
    fast_idct: bool,
    memory: Array,
    out: Array | None = None,
) -> tuple[int, int] | None:
    """What `decode_jpeg_window` returns, or None if this file cannot be decoded so: the memory then
    holds nothing of value. With `out`, each row goes through the same memory."""
    functions = jpeg_functions()
    assert functions is not None
    assert data.flags.c_contiguous and memory.flags.c_contiguous  # noqa: PT018
    state = np.zeros(STATE_BYTES // 8, np.int64)
    first, pitch = _decode_part(
        functions,
        state,
        state.view(np.int32),
        data.ctypes.data,
        data.size,
        info.height,
        info.width,
        info.channels,
        info.scale,
        COLORS[color],
        int(fast_idct),
        *window,
        memory.ctypes.data,
        memory.size,
        0 if out is None else out.ctypes.data,
    )
    return None if first < 0 else (first, pitch)


@jit
def _decode_part(
    functions: Int64Array,
    state: Int64Array,
    fields: I32Vector,
    data: int,
    size: int,
    height: int,
    width: int,
    file_channels: int,
    scale: int,
    color: int,
    transform: int,
    top: int,
    left: int,
    rows: int,
    columns: int,
    memory: int,
    room: int,
    target: int,
) -> tuple[int, int]:
    """First element and pitch, as `decode_jpeg_window` returns them; first -1: of this file not."""
    mark = state.ctypes.data
    first: Any = np.int64(-1)
    pitch: Any = np.int64(0)
    started = create_codec(functions, state) and start_file(
        functions, state, fields, data, size, file_channels, scale, color, transform
    )
    if started and fields[HEIGHT] == height and fields[WIDTH] == width:
        first, pitch = read_rows(
            functions, state, fields, top, left, rows, columns, memory, room, target
        )
    if first >= 0 and (state[WARNINGS] != 0 or not ends_well(functions, state, fields)):
        first = np.int64(-1)
    call_guarded(mark, functions[DESTROY], mark + CODEC, 0, 0, 0)
    return first, pitch


@jit
def create_codec(functions: Int64Array, state: Int64Array) -> bool:
    """Make a codec in this memory, which was zero. Returns whether it could be made; it is to be
    destroyed in any case."""
    mark = state.ctypes.data
    codec, manager = mark + CODEC, mark + _MANAGER
    call_c(functions[STD_ERROR], manager, 0, 0, 0)
    state[_ERROR_EXIT] = leaving_handler()
    state[_OUTPUT_MESSAGE] = silent_handler()
    state[_MANAGER_POINTER] = manager
    return call_guarded(mark, functions[CREATE], codec, VERSION, _CODEC_BYTES, 0) >= 0


@jit
def start_file(
    functions: Int64Array,
    state: Int64Array,
    fields: I32Vector,
    data: int,
    size: int,
    file_channels: int,
    scale: int,
    color: int,
    transform: int,
) -> bool:
    """Whether rows can be read: the header is read, and it is of a file of the right kind."""
    mark = state.ctypes.data
    codec = mark + CODEC
    if call_guarded(mark, functions[MEM_SRC], codec, data, size, 0) < 0:
        return False
    if call_guarded(mark, functions[READ_HEADER], codec, 1, 0, 0) != OK:
        return False
    if call_guarded(mark, functions[HAS_MULTIPLE_SCANS], codec, 0, 0, 0) != 0:
        return False
    if fields[_FILE_CHANNELS] != file_channels:
        return False
    if file_channels == 3:
        components = mark + _COMPONENTS
        call_c(functions[COPY], components, state[_COMPONENT_TABLE], 3 * _COMPONENT_BYTES, 0)
        if not _is_usual(fields):
            return False
    fields[_COLOR] = color
    fields[_SCALE_ABOVE], fields[_SCALE_BELOW] = 1, scale
    fields[_TRANSFORM] = transform
    return call_guarded(mark, functions[START], codec, 0, 0, 0) == OK


@jit
def _is_usual(fields: I32Vector) -> bool:
    """Whether simplejpeg has a name for the subsampling: others are Pillow's, and decoded whole."""
    for component in range(1, 3):
        place = _SAMPLING + component * _STRIDE
        if fields[place] != 1 or fields[place + 1] != 1:
            return False
    across, down = fields[_SAMPLING], fields[_SAMPLING + 1]
    return bool((down <= 2 and across <= 2 and across > 0) or (across == 4 and down == 1))


@jit
def read_rows(
    functions: Int64Array,
    state: Int64Array,
    fields: I32Vector,
    top: int,
    left: int,
    rows: int,
    columns: int,
    memory: int,
    room: int,
    target: int,
) -> tuple[int, int]:
    """Read the window of a started file and what must be decoded beside it, into `memory`, which
    has this room, in bytes; with a `target`, each row by way of it. Returns the element at which it
    begins and the elements from one of its rows to the next; first -1: it could not be read."""
    mark = state.ctypes.data
    codec = mark + CODEC
    block: Any = np.int64(fields[_BLOCK])
    width: Any = np.int64(fields[WIDTH])
    margin: Any = np.int64(0)
    if fields[_FILE_CHANNELS] > 1:
        block *= fields[_ACROSS]
        margin = block if fields[_ACROSS] > 1 else margin
    begin: Any = max(left // block * block - margin, 0)
    end: Any = min((left + columns + block - 1) // block * block + margin, width)
    if begin > 0 or end < width:
        pair = _CROP_PAIR * 2
        fields[pair], fields[pair + 1] = begin, end - begin
        place = mark + 8 * _CROP_PAIR
        if call_guarded(mark, functions[CROP], codec, place, place + 4, 0) < 0:
            return -1, 0
        if fields[pair] != begin or fields[WIDTH] != end - begin:
            return -1, 0
    channels: Any = np.int64(fields[_CHANNELS])
    pitch = (end - begin) * channels
    step = 0 if target else pitch
    if pitch + step * (rows - 1) > room or left + columns > end:
        return -1, 0
    if top > 0 and call_guarded(mark, functions[SKIP], codec, top, 0, 0) != top:
        return -1, 0
    if not target and not read_whole_rows(functions, state, memory, pitch, rows):
        return -1, 0
    part, size = memory + (left - begin) * channels, columns * channels
    for row in range(rows if target else 0):
        if not read_whole_rows(functions, state, memory, 0, 1):
            return -1, 0
        call_c(functions[COPY], target + row * size, part, size, 0)
    return (left - begin) * channels, pitch


@jit
def read_whole_rows(
    functions: Int64Array, state: Int64Array, memory: int, pitch: int, rows: int
) -> bool:
    """Read so many rows of a started file to `memory`, each `pitch` bytes after the one before.
    Returns whether all of them came."""
    mark = state.ctypes.data
    done: Any = np.int64(0)
    while done < rows:
        asked = min(rows - done, _AT_ONCE)
        for k in range(asked):
            state[_ROWS + k] = memory + (done + k) * pitch
        found = call_guarded(mark, functions[READ], mark + CODEC, mark + 8 * _ROWS, asked, 0)
        if found < 1:
            return False
        done += found
    return True


@jit
def ends_well(functions: Int64Array, state: Int64Array, fields: I32Vector) -> bool:
    """Whether the data that were not read are followed by the marker that ends an image."""
    marker = fields[_MARKER]
    if marker != 0 and not 0xD0 <= marker <= 0xD7:  # else data go on after it
        return bool(marker == END)
    mark = state.ctypes.data
    place = mark + 8 * _NEXT
    call_c(functions[COPY], place, state[_SOURCE], 16, 0)  # next_input_byte, bytes_in_buffer
    next_byte, count = state[_NEXT], state[_LEFT_BYTES]
    while count > 1:
        found = call_c(functions[FIND_BYTE], next_byte, 0xFF, count - 1, 0)
        if found == 0:
            return False
        call_c(functions[COPY], place, found + 1, 1, 0)
        marker = state[_NEXT] & 0xFF
        if marker != 0 and marker != 0xFF and not 0xD0 <= marker <= 0xD7:
            return bool(marker == END)
        step = found + (1 if marker == 0xFF else 2) - next_byte
        next_byte, count = next_byte + step, count - step
    return False
