"""What the noise operators share: dtypes, and random words and normal values in strips."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.random.philox import normal_from_word, normal_middle, philox
from gradiva.eager.rows.convert import convert_array
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.types.arrays import F64Vector, U32Vector
from gradiva.eager.types.dtypes import dtypes

# Few calls need it, and `import gradiva` must stay fast.
_translate: Any = lazy_module("gradiva.eager.execution.cuda_translate")

NOISY: Final = tuple(dtype for dtype in dtypes if dtype is not op.bool_)
"""The dtypes that noise can be added to."""

STRIP: Final = 1024
"""Elements that kernels work on at a time; a multiple of 4."""


@op.jit
def random_words(
    first: int, number: np.uint32, position: np.uint64, seed: np.uint64, words: U32Vector
) -> None:
    """`words` = the random words of elements `first` and following; `first` is a multiple of 4.

    Element e has word e % 4 of block e // 4, as in `random.uniform` and `random.normal`.
    """
    block = first // 4
    for b in range(words.size // 4):
        w0, w1, w2, w3 = philox(np.uint32(block + b), number, position, seed)
        words[4 * b] = w0
        words[4 * b + 1] = w1
        words[4 * b + 2] = w2
        words[4 * b + 3] = w3


@op.jit
def normal_values(words: U32Vector, out: F64Vector) -> None:
    """`out` = `normal_from_word` of each word, its bits included.

    The middle of the distribution is computed for all, in a loop that vectorizes; then come the
    15% that lie outside of it.
    """
    for j in range(out.size):
        q = (np.float64(words[j]) + 0.5) * 2.3283064365386963e-10 - 0.5
        out[j] = normal_middle(q)
    for j in range(out.size):
        q = (np.float64(words[j]) + 0.5) * 2.3283064365386963e-10 - 0.5
        if abs(q) > 0.425:
            out[j] = normal_from_word(words[j])


def disturb(call: op.Call, kernel: Callable[..., Any], *parameters: Any) -> None:
    """Run a kernel of noise over all samples; float16 passes through float32.

    kernel(call.slabs, counts, call.draws, *parameters, begin, end)
    """
    target = call.outputs[0]
    data, offsets, result, places = call.slabs
    if call.inputs[0].dtype is op.float16:
        data = convert_array(data, np.dtype(np.float32))
        result = np.zeros(result.shape, np.float32)
    slabs = data, offsets, result, places
    call.for_samples(kernel, slabs, target.batch_shape.volumes, call.draws, *parameters)
    if result is not target.data:
        target.data[:] = convert_array(result, target.data.dtype)


@lru_cache(maxsize=4)
def _noise_kernel(file: Path) -> op.CudaKernel:
    shared = file.with_name("disturb.cuh")
    return op.CudaKernel("disturb", ("philox.cuh", "arithmetic.cuh", None, file, shared))


def launch_noise(
    call: op.Call, file: Path, *parameters: Any, calls: tuple[Any, ...] = (normal_from_word,)
) -> op.Launch:
    """What `disturb` does, as a launch on a GPU. file: a `.cuh` with the function `disturbed`;
    calls: kernels marked with `jit` whose translations it calls."""
    source, target = call.inputs[0], call.outputs[0]
    assert call.positions is not None
    volumes = target.batch_shape.volumes
    table = np.stack(
        [source.batch_shape.offsets, target.batch_shape.offsets, volumes, call.positions], axis=1
    )
    rows = np.stack([np.asarray(one, np.float64) for one in parameters], axis=1)
    types = {"Source": op.type_name(source.data.dtype), "Target": op.type_name(target.data.dtype)}
    unit = _noise_kernel(file).unit(types, _translate.translation_of(*calls))
    given = source.data, target.data, table, -(-volumes // 4)
    return op.launch_over(unit, *given, *call.seed_and_number, rows, np.int64(rows.shape[1]))
