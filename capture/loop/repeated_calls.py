"""Calls of a loop's body that were made in the same way before: most calls of most bodies."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from gradiva.eager.operators.operator import OperatorBase
from gradiva.eager.support.errors import user_location
from gradiva.eager.types.device import CPU
from gradiva.eager.types.dtypes import DType
from gradiva.eager.types.sample_type import SampleType

from .pending import LazyBatch, Pending, Ref
from .step import LoopStep

_PLAIN = frozenset({bool, bytes, float, int, str, type(None), DType})
"""Values of these types are equal if their texts are; but for NaN."""
_MOST = 1 << 12
"""A limit above the number of calls of any real body."""


class _Checked(NamedTuple):
    """What an earlier call has become."""

    attributes: dict[str, Any]
    types: tuple[SampleType, ...]
    name: str | None
    signature: int


class RepeatedCalls:
    """Makes the pending calls of steps that repeat a call of an earlier step, without the checks
    that the earlier call has passed: the same operator, with the same arguments, on values with
    the same signatures. This holds as long as the loop runs the same program ahead."""

    def __init__(self) -> None:
        self._known: frozenset[int] = frozenset()
        self._checked: dict[Hashable, _Checked] = {}

    def made_by(
        self,
        step: LoopStep,
        operator: OperatorBase,
        inputs: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Pending | None:
        """The pending call that repeats an earlier one, or None if this one does not."""
        if self._known is not step.item.known:
            return None
        checked = self._checked.get(_key(step, operator, inputs, keywords))
        if checked is None:
            return None
        refs = []
        for value in inputs:
            source, output = value.pending, value.output
            refs.append(Ref(source, output))
            source.note_reader(output)
        attributes, types, name, signature = checked
        call = Pending(
            operator, tuple(refs), attributes, types, step.size, False, step, user_location()
        )
        call.name, call.signature = name, signature
        return call

    def note(
        self,
        step: LoopStep,
        operator: OperatorBase,
        inputs: tuple[Any, ...],
        keywords: dict[str, Any],
        call: Pending,
    ) -> None:
        """The call has passed its checks, and was served with values that were computed ahead."""
        if self._known is not step.item.known:
            self._known = step.item.known
            self._checked.clear()
        if len(self._checked) >= _MOST:
            self._checked.clear()  # arguments that differ in text may be one call
        key = _key(step, operator, inputs, keywords)
        if key is None or call.device is not CPU or len(call.inputs) != len(inputs):
            return
        for ref in call.inputs:
            assert isinstance(ref.source, Pending)  # as `_key` has found
            type = ref.source.types[ref.output]
            if None in (type.dtype, type.ndim, type.layout):
                return  # it may differ from step to step
        self._checked[key] = _Checked(call.attributes, call.types, call.name, call.signature)


def _key(
    step: LoopStep, operator: OperatorBase, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Hashable:
    """What distinguishes a call; None for one that may differ although its key is the same."""
    if step.lost or operator.random or operator.effects or not inputs or "device" in keywords:
        return None
    sources = []
    for value in inputs:
        if type(value) is not LazyBatch:
            return None
        source, output = value.pending, value.output
        if source.evaluator is not step or source.size != step.size or source.device is not CPU:
            return None
        if source.drawn_at is not None or output in source.exposed:
            return None
        sources.append((source.signature, output))
    for value in keywords.values():
        elements = value if type(value) in (list, tuple) else (value,)
        if not _PLAIN.issuperset(map(type, elements)):
            return None
    text = repr(keywords)
    if "nan" in text:  # which may be of several bits
        return None
    return operator, tuple(sources), step.size, text
