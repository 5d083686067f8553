"""Runs a fused group that makes spectra of audio: one pass over each signal, in blocks of frames.

A group is: perhaps a part of the audio, perhaps a filter, frames and their spectra, perhaps bands,
perhaps levels. The pass is the operator's own (`SpectralStep.run`), so bits are those of each step
alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager.operators.call import Call
from gradiva.eager.operators.fusion_roles import SpectralStep, View
from gradiva.eager.types.dtypes import float32
from gradiva.eager.values.batch import Batch

from .fusion_report import NotFusableError, Reason


def makes_spectra(call: Call) -> bool:
    """Whether the last call of a group is a step of such a pass."""
    return isinstance(call.operator.fusion_role, SpectralStep)


def run_spectra(source: Batch, calls: list[Call], target: Batch) -> None:
    """Fill `target`. Raises NotFusableError for calls that the pass does not support."""
    if source.dtype is not float32:
        raise NotFusableError(Reason.DTYPE, str(source.dtype), calls[0])
    shapes = source.batch_shape
    begins, lengths = shapes.offsets, shapes.volumes
    settings: list[Any] = [None] * 4
    runs = None
    for call in calls:
        role = call.operator.fusion_role
        if isinstance(role, View):
            inside = None if role.begins is None else role.begins(call)
            if inside is None:
                raise NotFusableError(Reason.MEMBER, call.operator.name, call)
            begins, lengths = begins + inside, call.batch_shapes[0].volumes
            continue
        assert isinstance(role, SpectralStep)
        found = role.settings(call)
        if found is None:
            raise NotFusableError(Reason.MEMBER, call.operator.name, call)
        settings[role.phase - 1] = found
        runs = role.run or runs
    if runs is None:
        raise NotFusableError(Reason.MEMBER, calls[-1].operator.name, calls[-1])
    last = calls[-1]
    last.outputs = (target,)
    place = source.data, np.ascontiguousarray(begins), np.ascontiguousarray(lengths)
    runs(last, place, tuple(settings), target)
