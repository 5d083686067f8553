"""libjpeg-turbo, as Pillow brings it: where its functions are, and how its structures look.

Pillow's wheels have it as a shared library, whose functions can be found through Pillow's own
module. It decodes a part of an image, which the libraries that gradiva calls for whole images do
not offer. Where it is not there, is old, or is made for another version of the structures,
`jpeg_functions` says so, and there is another way (`rows`).
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gradiva.eager.simd.c_calls import addresses
from gradiva.eager.simd.guarded_calls import can_guard
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.support.user_warning import warn_user
from gradiva.eager.types.arrays import Int64Array

from .codec import has_simplejpeg

if TYPE_CHECKING:
    from PIL import features
else:
    features = lazy_module("PIL.features", "pillow")

VERSION: Final = 62
"""Of the structures; `jpeg_CreateDecompress` refuses one that is not its own, as it does a size."""
_LEAST: Final = (3, 0)
"""libjpeg-turbo's own version: older ones were not tried here."""
_CODEC: Final = (
    "std_error",
    "CreateDecompress",
    "mem_src",
    "read_header",
    "has_multiple_scans",
    "start_decompress",
    "crop_scanline",
    "skip_scanlines",
    "read_scanlines",
    "finish_decompress",
    "abort_decompress",
    "destroy_decompress",
)
(
    STD_ERROR,
    CREATE,
    MEM_SRC,
    READ_HEADER,
    HAS_MULTIPLE_SCANS,
    START,
    CROP,
    SKIP,
    READ,
    FINISH,
    ABORT,
    DESTROY,
    COPY,
    FIND_BYTE,
) = range(14)
"""Places in `jpeg_functions`."""


@functools.cache
def jpeg_functions() -> Int64Array | None:
    """The addresses of libjpeg-turbo's functions, and of C's memcpy and memchr, in the order of the
    numbers above; None if they cannot be used here."""
    version = features.version("libjpeg_turbo")
    if not can_guard() or version is None or _numbers(version) < _LEAST:
        return None
    of_c = addresses("memcpy", "memchr")
    try:
        library = ctypes.CDLL(_pillow())  # loaded already: it finds what that has loaded
        found = [_address(getattr(library, f"jpeg_{name}")) for name in _CODEC]
    except (OSError, AttributeError) as error:
        warn_of_library(str(error))
        return None
    return None if of_c is None else np.array([*found, *of_c], np.int64)


def warn_of_library(problem: str) -> None:
    """Say that a library that should do is not used, and what is done instead."""
    codec = "simplejpeg" if has_simplejpeg() else "Pillow's decoder"
    warn_user(
        f"gradiva does not know the libjpeg-turbo {features.version('libjpeg_turbo')} in Pillow "
        f"({problem}): small JPEGs and windows are decoded by {codec}, which takes longer"
    )


def _pillow() -> str | None:
    """The file of Pillow's compiled part."""
    return importlib.import_module("PIL._imaging").__file__


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


_POINTER: Any = ctypes.c_void_p
_INT: Any = ctypes.c_int


def _ints(*names: str) -> list[tuple[str, Any]]:
    return [(name, _INT) for name in names]


def _pointers(*names: str) -> list[tuple[str, Any]]:
    return [(name, _POINTER) for name in names]


class Decompress(ctypes.Structure):
    """jpeg_decompress_struct of that version."""

    _fields_ = (
        *_pointers("err", "mem", "progress", "client_data"),
        *_ints("is_decompressor", "global_state"),
        *_pointers("src"),
        *_ints("image_width", "image_height", "num_components", "jpeg_color_space"),
        *_ints("out_color_space", "scale_num", "scale_denom"),
        ("output_gamma", ctypes.c_double),
        *_ints("buffered_image", "raw_data_out", "dct_method", "do_fancy_upsampling"),
        *_ints("do_block_smoothing", "quantize_colors", "dither_mode", "two_pass_quantize"),
        *_ints("desired_number_of_colors", "enable_1pass_quant", "enable_external_quant"),
        *_ints("enable_2pass_quant", "output_width", "output_height", "out_color_components"),
        *_ints("output_components", "rec_outbuf_height", "actual_number_of_colors"),
        *_pointers("colormap"),
        *_ints("output_scanline", "input_scan_number", "input_iMCU_row", "output_scan_number"),
        *_ints("output_iMCU_row"),
        *_pointers("coef_bits"),
        ("quant_tbl_ptrs", _POINTER * 4),
        ("dc_huff_tbl_ptrs", _POINTER * 4),
        ("ac_huff_tbl_ptrs", _POINTER * 4),
        *_ints("data_precision"),
        *_pointers("comp_info"),
        *_ints("progressive_mode", "arith_code"),
        ("arith", ctypes.c_uint8 * 48),
        *_ints("restart_interval", "saw_JFIF_marker"),
        ("jfif", ctypes.c_uint8 * 3),
        ("density", ctypes.c_uint16 * 2),
        *_ints("saw_Adobe_marker"),
        ("Adobe_transform", ctypes.c_uint8),
        *_ints("CCIR601_sampling"),
        *_pointers("marker_list"),
        *_ints("max_h_samp_factor", "max_v_samp_factor", "min_DCT_scaled_size"),
        *_ints("total_iMCU_rows"),
        *_pointers("sample_range_limit"),
        *_ints("comps_in_scan"),
        ("cur_comp_info", _POINTER * 4),
        *_ints("MCUs_per_row", "MCU_rows_in_scan", "blocks_in_MCU"),
        ("MCU_membership", _INT * 10),
        *_ints("Ss", "Se", "Ah", "Al", "unread_marker"),
        ("parts", _POINTER * 11),
    )


class Component(ctypes.Structure):
    """jpeg_component_info."""

    _fields_ = (
        *_ints("component_id", "component_index", "h_samp_factor", "v_samp_factor"),
        ("others", _INT * 16),
        *_pointers("quant_table", "dct_table"),
    )


class ErrorManager(ctypes.Structure):
    """jpeg_error_mgr."""

    _fields_ = (
        *_pointers("error_exit", "emit_message", "output_message", "format_message"),
        *_pointers("reset_error_mgr"),
        *_ints("msg_code"),
        ("msg_parm", ctypes.c_char * 80),
        *_ints("trace_level"),
        ("num_warnings", ctypes.c_long),
        *_pointers("jpeg_message_table"),
        *_ints("last_jpeg_message"),
        *_pointers("addon_message_table"),
        *_ints("first_addon_message", "last_addon_message"),
    )
