"""`Checkpoint`: the states of readers, generators and sources of dynamic mode, in one file."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from gradiva.eager.support.errors import (
    GradivaError,
    OperatorRuntimeError,
    OperatorValueError,
    annotate_error,
    describe,
    wrong_type,
    wrong_value,
)

from .checkpoint_files import (
    CheckpointError,
    CheckpointNotFoundError,
    load,
    pack,
    save,
    set_state,
    unpack,
)
from .checkpoint_series import is_pattern, series_of
from .json_codec import from_json_value, to_json_value
from .unrestored import note_unrestored


class CheckpointKeyError(OperatorValueError, KeyError):
    """The checkpoint has no entry of this name."""

    def __str__(self) -> str:
        return OperatorValueError.__str__(self)


_KINDS = (str, type(None))


class _OperatorState(NamedTuple):
    """The state of one operator as plain data, and its class, if that is known."""

    state: Any
    type: str | None


class Checkpoint:
    """Collects the states of the objects registered with it, saves them, and puts them back.

    Saving: `register` each reader, RNG, ExternalSource or other object with `get_state` and
    `set_state`; then, as often as wished, `collect` and `save`. Resuming: `load`, then `register`
    the new objects, which are put into their state at once (or all of them by `restore`).
    """

    def __init__(self) -> None:
        self._operators: dict[str, Any] = {}
        self._entries: dict[str, _OperatorState] = {}
        self._loaded = False
        self._complete = False
        self._next_number = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the registered objects, in their order."""
        return tuple(self._operators)

    @property
    def is_complete(self) -> bool:
        """Whether `collect` has recorded the states of all registered objects."""
        return self._complete

    @property
    def is_loaded(self) -> bool:
        """Whether the states come from `load` or `deserialize`."""
        return self._loaded

    def __len__(self) -> int:
        return len(self._operators)

    def register(self, op: Any, name: str | None = None) -> str:
        """Take part in this checkpoint; returns the name.

        op: has `get_state()`, which returns plain data, and `set_state(data)`. If states were
        loaded, it is put into its own at once. name: by default one that counts the objects, which
        is found again only if they are registered in the same order. Another object may take over
        a name. Raises OperatorTypeError for another object or type; CheckpointKeyError if states
        were loaded and there is none of this name; OperatorRuntimeError for a new name after
        `collect`, and for an object that has another name already.
        """
        with annotate_error("Checkpoint.register"):
            if not all(callable(getattr(op, name, None)) for name in ("get_state", "set_state")):
                raise wrong_type(
                    "op",
                    "an object with get_state and set_state (a reader, an RNG, ...)",
                    describe(op),
                )
            known = next((key for key, held in self._operators.items() if held is op), None)
            if known is not None and name not in (None, known):
                raise OperatorRuntimeError(
                    f"the object is registered already, under the name {known!r}", argument="name"
                )
            key = known or self._name(name)
            if self._complete and key not in self._operators:
                raise OperatorRuntimeError(
                    f"the states were collected: {key!r} would not be among them; call `clear` "
                    "first, and register everything again"
                )
            if self._loaded:
                self._apply(key, op)
            self._operators[key] = op
            return key

    def _name(self, name: Any) -> str:
        if name is None:
            return f"__op_{len(self._operators)}"
        if not isinstance(name, str):
            raise wrong_type("name", "a string", describe(name))
        if not name or name.startswith("__op_"):
            raise wrong_value(
                "name", "a name that is not empty and does not begin with '__op_'", repr(name)
            )
        return name

    def _apply(self, key: str, op: Any) -> None:
        entry = self._entry(key, op)
        try:
            set_state(op, from_json_value(entry.state))
        except GradivaError as error:
            error.problem = f"restoring {key!r}: {error.problem}".removesuffix(": ")
            raise

    def _entry(self, key: str, op: Any) -> _OperatorState:
        """The state for an object. Raises CheckpointKeyError or OperatorTypeError."""
        entry = self._entries.get(key)
        if entry is None:
            hint = (
                "; objects without a name must be registered in the order they were saved in"
                if key.startswith("__op_")
                else ""
            )
            raise CheckpointKeyError(
                f"the checkpoint has no state for {key!r}, but for "
                f"{', '.join(map(repr, self._entries)) or 'nothing'}{hint}"
            )
        if entry.type not in (None, type(op).__name__):
            raise wrong_type(
                "",
                f"{entry.type}, as in the checkpoint",
                type(op).__name__,
                f"the state of {key!r} belongs to an object of another type",
            )
        return entry

    def collect(self) -> None:
        """Take the states of all registered objects. Raises OperatorRuntimeError if states were
        loaded whose objects are not registered yet; OperatorTypeError for a state that is no plain
        data."""
        with annotate_error("Checkpoint.collect"):
            self._check_none_left()
            self._entries = {
                key: _OperatorState(
                    to_json_value(op.get_state(), f"the state of {key!r}"), type(op).__name__
                )
                for key, op in self._operators.items()
            }
            self._complete, self._loaded = True, False

    def restore(self) -> None:
        """Restore all registered objects; without states this has no effect.

        Raises OperatorRuntimeError for objects without a state and states without an object;
        OperatorTypeError for a state of another type of object.
        """
        with annotate_error("Checkpoint.restore"):
            if not self._entries:
                return
            self._check_none_left()
            missing = [key for key in self._operators if key not in self._entries]
            if missing:
                raise OperatorRuntimeError(
                    f"the checkpoint has no state for {', '.join(map(repr, missing))}"
                )
            for key, op in self._operators.items():
                self._entry(key, op)
            for key, op in self._operators.items():
                self._apply(key, op)

    def _check_none_left(self) -> None:
        left = [key for key in self._entries if key not in self._operators]
        if left:
            raise OperatorRuntimeError(
                f"the checkpoint has states for {', '.join(map(repr, left))}, but no object is "
                "registered under these names"
            )

    def get_state(self, name: str) -> Any:
        """The state held for `name`, or None if there is none yet. Raises CheckpointKeyError."""
        entry = self._entries.get(name)
        if entry is None and name not in self._operators:
            raise CheckpointKeyError(
                f"nothing is registered as {name!r}", operator="Checkpoint.get_state"
            )
        return None if entry is None else from_json_value(entry.state)

    def set_state(self, name: str, value: Any, op_type: Any = None) -> None:
        """Hold a state for `name`. op_type: the class (or its name) that it is meant for.

        Raises CheckpointKeyError for a new name after `collect`; OperatorTypeError for a value that
        is no plain data.
        """
        with annotate_error("Checkpoint.set_state"):
            if self._complete and name not in self._operators:
                raise CheckpointKeyError(f"nothing is registered as {name!r}")
            kind = getattr(op_type, "__name__", op_type)
            if kind is not None and not isinstance(kind, str):
                raise wrong_type("op_type", "a class or its name", describe(op_type))
            self._entries[name] = _OperatorState(
                to_json_value(value, f"the state of {name!r}"), kind
            )

    def clear(self) -> None:
        """Remove all objects and states."""
        self._operators.clear()
        self._entries.clear()
        self._loaded = self._complete = False

    def serialize(self) -> str:
        """The states as text. Raises OperatorRuntimeError if there are none."""
        if not self._entries:
            raise OperatorRuntimeError(
                "there are no states: call `collect` first", operator="Checkpoint.serialize"
            )
        states = {key: list(entry) for key, entry in self._entries.items()}
        return pack({"kind": "dynamic", "states": states})

    def deserialize(self, data: str | bytes) -> None:
        """Hold the states in a text that `serialize` returned. Objects that are registered already
        are put into theirs by `restore`. Raises CheckpointError."""
        with annotate_error("Checkpoint.deserialize"):
            if not isinstance(data, str | bytes):
                raise wrong_type("data", "a string", describe(data))
            self._take(unpack(data, "dynamic"))

    def _take(self, content: dict[str, Any]) -> None:
        states = content.get("states")
        entries: dict[str, _OperatorState] = {}
        for key, entry in states.items() if isinstance(states, dict) else [("states", None)]:
            if not isinstance(entry, list) or len(entry) != 2 or type(entry[1]) not in _KINDS:
                raise CheckpointError(f"the checkpoint has a bad entry for {key!r}")
            entries[key] = _OperatorState(*entry)
        self._entries, self._loaded, self._complete = entries, True, False
        note_unrestored(op for key, op in self._operators.items() if key in entries)

    def save(self, filename: str | os.PathLike[str]) -> str:
        """Write the states to a file, atomically, and return its name.

        filename: with `{seq}` or, for example, `{seq:04d}` in it, each call writes the next file
        of a numbered series; without, the file is replaced and the one before it kept as
        `<filename>.previous`. Folders are made. Raises OperatorRuntimeError if there are no states
        or the file cannot be written; OperatorValueError for another pattern.
        """
        with annotate_error("Checkpoint.save"):
            pattern = _path(filename)
            numbered = is_pattern(pattern)
            text = self.serialize()
            path = pattern
            if numbered:
                newest = max(series_of(pattern), default=-1)
                self._next_number = max(self._next_number, newest + 1)
                path = pattern.format(seq=self._next_number)
            try:
                os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            except OSError as error:
                raise OperatorRuntimeError(
                    f"the folder cannot be made: {error.strerror}", file=path
                ) from error
            save(path, text, keep=not numbered)
            self._next_number += numbered
            return path

    def load(self, filename: str | os.PathLike[str]) -> str:
        """Hold the states in a file, as `deserialize` does, and return its name.

        filename: as in `save`. If the newest file is damaged, the newest one before it that is
        whole is taken, with a warning. Raises CheckpointNotFoundError (a FileNotFoundError) if
        there is no file; CheckpointError if none is whole.
        """
        with annotate_error("Checkpoint.load"):
            path, older = _path(filename), None
            if is_pattern(path):
                series = series_of(path)
                if not series:
                    raise CheckpointNotFoundError(f"no file has a name like {path!r}")
                newest, *rest = (series[number] for number in sorted(series, reverse=True))
                path, older = newest, tuple(rest)
            content, path = load(path, "dynamic", older)
            self._take(content)
            return path

    def __repr__(self) -> str:
        state = "loaded" if self._loaded else "complete" if self._complete else "not collected"
        return f"<Checkpoint of {', '.join(self._operators) or 'nothing'}, {state}>"


def _path(filename: Any) -> str:
    """Raises OperatorTypeError unless this is the name of a file."""
    if not isinstance(filename, str | os.PathLike):
        raise wrong_type("filename", "the name of a file", describe(filename))
    return str(os.fspath(filename))
