"""Which labels `random_object_bbox` takes for objects, and how likely each is."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradiva.eager import extension as op


def refuse_rows(argument: str, bad: Any, expected: str, values: Any) -> None:
    """Raise OperatorValueError for the first sample that is bad."""
    if bad.any():
        sample = int(np.flatnonzero(bad)[0])
        raise op.OperatorValueError(
            argument=argument, expected=expected, got=str(values[sample].tolist()), sample=sample
        )


def class_rows(call: op.Call) -> tuple[Any, Any, Any]:
    """Of each sample: the classes (N, C), their weights (N, C) or (N, 0), the background (N,)."""
    classes, weights, given = call["classes"], call["class_weights"], call["background"]
    background = np.zeros(call.size, np.int64) if given is None else given
    if weights is not None:
        bad = ~((weights >= 0) & np.isfinite(weights)).all(axis=1)
        refuse_rows("class_weights", bad, "numbers from 0 on", weights)
        if classes is None:
            classes = np.tile(np.arange(1, weights.shape[1] + 1), (call.size, 1))
            if given is not None:
                classes[classes == background[:, None]] = 0
        elif classes.shape != weights.shape:
            raise op.OperatorValueError(
                argument="class_weights",
                expected=f"a weight for each of {classes.shape[1]} classes",
                got=str(weights.shape[1]),
            )
    if classes is None:
        return np.empty((call.size, 0), np.int64), np.empty((call.size, 0)), background
    if classes.shape[1] == 0:
        raise op.OperatorValueError(argument="classes", expected="one label or more", got="none")
    if given is None:
        background = background.copy()
        for sample, labels in enumerate(classes.tolist()):
            while background[sample] in labels:
                background[sample] -= 1
    else:
        inside = (classes == background[:, None]).any(axis=1)
        refuse_rows("classes", inside, "labels other than the background", classes)
    spread = np.empty((call.size, 0)) if weights is None else weights.astype(np.float64)
    return classes, spread, background
