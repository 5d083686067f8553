"""What a parallel external source does in a worker process: it calls the user's callable or
iterable, and takes what comes apart into arrays and plain values. `Decoded` puts it together again
in the master: the same objects, as far as a batch is made from them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gradiva.eager import extension as op
from gradiva.eager.values.interop import image_layout
from gradiva.eager.values.tensor import prepare, to_array
from gradiva.ops.external_source.workers.tasks import BadReplyError, Task

from .callback_source import BatchInfo, CallbackIterator, SampleInfo, parts_of

Keep = Callable[[np.ndarray[Any, Any]], int]
Note = Callable[[int], None]

_CLASSES: dict[str, type[op.GradivaError]] = {
    kind.__name__: kind
    for kind in (op.OperatorTypeError, op.OperatorValueError, op.OperatorRuntimeError)
}
_FACTS = ("problem", "operator", "argument", "expected", "got", "file")


class Unusable:
    """Stands for what the source returned, and what cannot be a sample or a batch."""

    def __init__(self, error: op.GradivaError) -> None:
        self.error = error


class ExternalWork:
    """An external source in a worker. packed: the source as bytes, if it is not inherited.

    Callables are stateless: each request says all. An iterable is opened by a request with
    "replay", the numbers of calls made before in each epoch, which are made again.
    """

    def __init__(self, arguments: dict[str, Any], packed: bytes | None) -> None:
        self._source = arguments["source"]
        self._packed = packed
        self._cycle = arguments["cycle"]
        self._batch = bool(arguments["batch"])
        self._batch_info = bool(arguments["batch_info"])
        self._count = arguments["num_outputs"]
        self._callback: CallbackIterator | None = None
        self._epoch = 0
        self._ended = -1

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_source": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        assert self._packed is not None
        loads, options, data = pickle.loads(self._packed)
        self._source = loads(data, **options)

    def run(self, request: dict[str, Any], keep: Keep, note: Note) -> dict[str, Any]:
        """The items that were asked for, and why there are not more."""
        reply: dict[str, Any] = {"items": [], "stop": False, "error": None, "calls": 0}
        if self._callback is None or request.get("replay") is not None:
            self._open(request.get("replay") or [0], note)
        callback = self._callback
        assert callback is not None
        while not callback.takes_request and self._epoch < request["epochs"]:
            callback.restart()
            self._epoch += 1
        if self._ended == request["era"]:
            # Asked ahead, before it was known that the end had come.
            return {**reply, "stop": True}
        for index in range(request["first"], request["first"] + request["count"]):
            note(-1 if self._batch else index)
            reply["calls"] += 1
            try:
                item = callback.next(self._asked(request, index))
                reply["items"].append(self._encoded(item, keep))
            except StopIteration:
                reply["stop"] = True
                if not reply["items"] and not callback.takes_request:
                    self._ended = request["era"]
                break
            except op.GradivaError as error:
                reply["error"] = _facts(error)
                break
            except BaseException as error:  # noqa: BLE001  such as SystemExit: not in our process
                reply["error"] = _facts(
                    op.OperatorRuntimeError(f"the source raised {type(error).__name__}: {error}")
                )
                break
        return reply

    def _open(self, replay: list[int], note: Note) -> None:
        self._callback = callback = CallbackIterator(self._source, self._cycle)
        self._epoch, self._ended = len(replay) - 1, -1
        for epoch, calls in enumerate(replay):
            if epoch:
                callback.restart()
            for _ in range(calls):
                note(-1)
                # What it raises was reported when it was raised first.
                with suppress(Exception):
                    callback.next(None)

    def _asked(self, request: dict[str, Any], index: int) -> Any:
        iteration, epoch = request["iteration"], request["epoch"]
        if not self._batch:
            return SampleInfo(request["in_epoch"] + index, index, iteration, epoch)
        return BatchInfo(iteration, epoch) if self._batch_info else iteration

    def _encoded(self, item: Any, keep: Keep) -> Any:
        try:
            parts = parts_of(item, self._count)
        except op.GradivaError as error:
            return {"bad": _facts(error)}
        encode = _encoded_batch if self._batch else _encoded_sample
        return [encode(part, keep) for part in parts]


def _facts(error: op.GradivaError) -> dict[str, Any]:
    facts = {name: getattr(error, name) for name in _FACTS}
    facts = {name: None if fact is None else str(fact) for name, fact in facts.items()}
    if error.location is not None:
        facts["problem"] += f"\n  at {error.location}"
    return {**facts, "sample": error.sample, "class": type(error).__name__}


def error_of(facts: Any) -> op.GradivaError:
    """The error whose facts a worker sent. Raises BadReplyError."""
    if not isinstance(facts, dict):
        raise BadReplyError("an error that has no known form")
    known = {name: facts.get(name) for name in _FACTS}
    known = {name: None if fact is None else str(fact) for name, fact in known.items()}
    sample = facts.get("sample")
    error = _CLASSES.get(str(facts.get("class")), op.OperatorRuntimeError)(
        known.pop("problem") or ""
    )
    return error.complete(**known, sample=sample if type(sample) is int else None)


def _encoded_sample(value: Any, keep: Keep) -> dict[str, Any]:
    try:
        array, _ = prepare(to_array(value), None, "")
    except op.GradivaError as error:
        return {"bad": _facts(error)}
    if not isinstance(value, op.Tensor):
        layout = image_layout(value, array.ndim)
        return {"array": keep(array), **({"layout": layout, "name": None} if layout else {})}
    name = value.provenance.name(0) or "" if value.provenance else None
    return {"array": keep(array), "layout": value.layout, "name": name}


def _encoded_batch(value: Any, keep: Keep) -> dict[str, Any]:
    if isinstance(value, op.Batch):
        names = value.provenance.names if value.provenance else None
        return {
            "batch": [keep(np.ascontiguousarray(array)) for array in value.arrays()],
            "dtype": value.dtype.numpy.str,
            "ndim": value.ndim,
            "layout": value.layout,
            "names": None if names is None else [str(name) for name in names],
        }
    if isinstance(value, list | tuple):
        return {"list": [_encoded_sample(sample, keep) for sample in value]}
    if isinstance(value, op.Tensor) or not (
        isinstance(value, np.ndarray) or hasattr(value, "__dlpack__")
    ):
        return {"odd": op.describe(value)}
    return _encoded_sample(value, keep)


def decode(item: Any, task: Task) -> Any:
    """What stands for one output in the master: arrays are views on shared memory.

    Raises BadReplyError.
    """
    if not isinstance(item, dict):
        raise BadReplyError("an item that has no known form")
    if "bad" in item:
        return Unusable(error_of(item["bad"]))
    if "odd" in item:
        return Unusable(
            op.OperatorTypeError(
                "the source returned the wrong thing",
                expected="a batch: an array with a leading axis, or a list of arrays",
                got=str(item["odd"]),
            )
        )
    if "list" in item:
        return [decode(sample, task) for sample in _listed(item["list"])]
    if "batch" in item:
        return _decoded_batch(item, task)
    array = task.array(item.get("array"))
    if "layout" not in item:
        return array
    name = item.get("name")
    where = None if name is None else op.Provenance(np.zeros(1, np.int64), [str(name)])
    return op.Tensor.over(array, str(item["layout"]), where)


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadReplyError("an item that has no known form")
    return value


def _decoded_batch(item: dict[str, Any], task: Task) -> op.Batch:
    arrays = [task.array(number) for number in _listed(item["batch"])]
    names = item.get("names")
    try:
        ndim = int(item["ndim"])
        shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), ndim)
        type = op.SampleType(
            op.DType.from_numpy(np.dtype(str(item["dtype"]))), ndim, str(item["layout"]), "cpu"
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadReplyError(f"a batch that has no known form: {error}") from None
    where = None
    if names is not None:
        where = op.Provenance(
            np.zeros(len(arrays), np.int64), [str(name) for name in _listed(names)]
        )
    made = op.Batch.empty(op.BatchShape.of(shapes), type, where)
    for index, array in enumerate(arrays):
        made.array(index)[...] = array
    return made
