"""Running a resampling over whole samples, windows of them, and mirrored ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.run import Call
from gradiva.eager.strips import (
    MIRROR,
    TARGET,
    TARGET_FRAME,
    TARGET_ROW,
    UPSIDE_DOWN,
    Chain,
    table,
)

from .resample import Tables, rounding, run_resample

__all__ = ["resample_samples"]

Array = np.ndarray[Any, Any]


def resample_samples(
    call: Call, tables: Tables, mirror: Array | None = None, upside_down: Array | None = None
) -> None:
    """Resample the windows in `tables` of the first input of `call` into its first output.

    mirror, upside_down: (N,), whether a sample is then mirrored along W, H; None for none is.
    """
    source, target = call.inputs[0], call.outputs[0]
    sizes, window, item = tables.sizes, tables.window, target.data.itemsize
    channels = sizes[:, 1]
    values = (window[:, 5] - window[:, 4]) * channels
    samples = table(call.size)
    samples[:, TARGET] = target.geometry.offsets * item
    samples[:, TARGET_ROW] = values * item
    heights = (window[:, 1] - window[:, 0]) * (window[:, 3] - window[:, 2])
    samples[:, TARGET_FRAME] = heights * values * item
    if upside_down is not None:
        samples[:, UPSIDE_DOWN] = upside_down
    steps = rounding(target.dtype.numpy, call.size)
    single, longest = np.dtype(np.float32), int(values.max())
    # Rows that are not mirrored pass as rows of one channel, however many they have.
    if mirror is None or not mirror.any():
        chain = Chain(steps, single, 1, longest)
        call.for_samples(run_resample, source.data, tables, samples, chain, target.data)
        return
    samples[:, MIRROR] = mirror
    parts = [slice(0, call.size)]
    if (channels != channels[0]).any():
        parts = [slice(i, i + 1) for i in range(call.size)]
    for part in parts:
        count = int(channels[part.start])
        own = [step._replace(made=count) for step in steps]
        chain = Chain(own, single, count, longest)
        if len(parts) == 1:
            call.for_samples(run_resample, source.data, tables, samples, chain, target.data)
        else:
            run_resample(
                source.data, tables, samples, chain, target.data, part.start, part.stop
            )  # fmt: skip
