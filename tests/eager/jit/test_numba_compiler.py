"""What gradiva uses of Numba's compiler; `pyproject.toml` says for which versions."""

from __future__ import annotations

import ctypes
import pickle
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import numpy as np
import pytest

from gradiva.eager.jit import numba_compiler
from gradiva.eager.jit.jit import Kernel, _compile, load_numba
from gradiva.eager.jit.numba_compiler import c_callback, keep_compiled, on_compile, part_compiler

numba = load_numba()


class Store:
    """A store in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.reasons: list[str] = []

    def read(self, name: str, meaning: str) -> bytes | None:
        self.asked.append((name, meaning))
        return self.kept.get((name, meaning))

    def write(self, name: str, meaning: str, content: bytes) -> None:
        self.kept[name, meaning] = content

    def refuse(self, reason: str) -> None:
        self.reasons.append(reason)


def twice(value: Any) -> Any:
    return value + value


def dispatcher(store: Store, function: Callable[..., Any] = twice, options: object = "") -> Any:
    """A dispatcher as a new process would have it."""
    made = numba.njit(function)
    keep_compiled(numba, made, store, options)
    return made


@pytest.fixture(scope="module")
def filled() -> Store:
    """A store with `twice` for int64."""
    store = Store()
    assert dispatcher(store)(21) == 42
    assert len(store.kept) == 1
    return store


@pytest.fixture
def store(filled: Store) -> Store:
    copy = Store()
    copy.kept = dict(filled.kept)
    return copy


def hits(made: Any) -> tuple[int, int]:
    """How many signatures were loaded, and how many compiled."""
    return sum(made.stats.cache_hits.values()), sum(made.stats.cache_misses.values())


def test_what_is_kept_is_loaded(store: Store) -> None:
    made = dispatcher(store)
    assert made(21) == 42
    assert hits(made) == (1, 0)
    assert made(1.5) == 3.0
    assert hits(made) == (1, 1)
    assert len(store.kept) == 2
    again = dispatcher(store)
    assert (again(1.5), again(4)) == (3.0, 8)
    assert hits(again) == (2, 0)
    assert store.reasons == []
    assert len({name for name, _ in store.kept}) == 2


def test_kept_code_calls_kept_code(store: Store) -> None:
    """A kernel that calls another one, loaded where the other is not."""
    inner = dispatcher(store)

    def outer(values: Any) -> Any:
        total = 0.0
        for value in values:
            total += inner(value)
        return total

    other = Store()
    assert dispatcher(other, outer)(np.arange(4.0)) == 12.0
    made = dispatcher(other, outer)
    assert made(np.arange(4.0)) == 12.0
    assert hits(made) == (1, 0)


def test_all_that_machine_code_depends_on_is_in_its_meaning(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other options, settings and versions look for other code."""

    def meaning(options: object = "") -> str:
        made = dispatcher(Store(), options=options)
        made._cache.load_overload((numba.int64,), made.targetctx)
        ((_, text),) = made._cache._store.asked
        return str(text)

    found = {meaning(), meaning({"fastmath": True})}
    assert meaning() in {text for _, text in store.kept}
    for name in numba_compiler._SETTINGS:
        assert hasattr(numba.config, name) or name == "USING_SVML"
        with monkeypatch.context() as patch:
            patch.setattr(numba.config, name, "another value", raising=False)
            found.add(meaning())
    for module in (numba, np, __import__("llvmlite")):
        with monkeypatch.context() as patch:
            patch.setattr(module, "__version__", "another version")
            found.add(meaning())
    codegen = dispatcher(Store()).targetctx.codegen()
    with monkeypatch.context() as patch:
        patch.setattr(type(codegen), "magic_tuple", lambda self: ("another", "processor"))
        found.add(meaning())
    assert len(found) == 2 + len(numba_compiler._SETTINGS) + 3 + 1
    triple, processor, features = codegen.magic_tuple()
    assert {triple, processor} <= set(re.findall(r"[\w-]+", meaning()))
    assert features in meaning()


def test_what_cannot_be_rebuilt_is_compiled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (key,) = store.kept
    for content in (b"", b"no pickle", pickle.dumps(()), pickle.dumps(("a",) * 9)):
        store.kept[key] = content
        made = dispatcher(store)
        assert made(21) == 42
        assert hits(made) == (0, 1)
        assert store.kept[key] != content


def test_nothing_is_unpickled_that_the_store_does_not_give(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("unpickled")

    monkeypatch.setattr(pickle, "loads", refuse)
    store.kept.clear()
    made = dispatcher(store)
    assert made._cache.load_overload((numba.int64,), made.targetctx) is None
    assert len(store.asked) == 1


LARGE = np.zeros(2_000_000)


def test_what_cannot_be_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is compiled, and works."""

    def calls(function: Any, value: Any) -> Any:
        return function(value)

    def reads_large() -> Any:
        return LARGE[5]

    store = Store()
    assert dispatcher(store, calls)(numba.njit(twice), 4) == 8
    assert dispatcher(store, reads_large)() == 0.0
    assert store.kept == {}
    with monkeypatch.context() as patch:

        def fail(_: Any) -> bytes:
            raise pickle.PicklingError("not this")

        patch.setattr(numba.core.serialize, "dumps", fail)
        assert dispatcher(store)(4) == 8
    assert store.kept == {}
    assert store.reasons == [
        "its signature names an object of this process",
        "it uses pointers, or large arrays, that are global",
        "PicklingError: not this",
    ]


def test_numba_may_ask_more_of_its_caches(store: Store) -> None:
    """What else dispatchers call."""
    made = dispatcher(store)
    assert made(21) == 42
    made.recompile()
    assert made(21) == 42
    made._cache.enable()
    made._cache.disable()
    assert made.stats.cache_path is None


def fill(target: Any, count: Any) -> None:
    for k in range(count):
        target[k] = k * 0.5


def test_c_callbacks() -> None:
    """A C function's address, compiled, and loaded."""
    types = numba.types
    signature = types.void(types.CPointer(types.float64), types.int64)
    store = Store()
    for hits in (0, 1):
        made = c_callback(numba, fill, signature, {"nopython": True, "error_model": "numpy"})
        keep_compiled(numba, made, store, "")
        made.compile()
        assert made._cache_hits == hits
        target = np.zeros(5)
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(made.address)
        call(target.ctypes.data, 4)
        assert target.tolist() == [0.0, 0.5, 1.0, 1.5, 0.0]
    assert len(store.kept) == 1
    assert store.reasons == []


def test_compilations_are_heard_of(store: Store) -> None:
    """Not those of what is loaded."""
    started: list[Any] = []
    ended: list[Any] = []
    on_compile(numba, started.append, ended.append)
    made = dispatcher(store)
    made(21)
    assert made not in started
    made(1.5)
    assert started.count(made) == ended.count(made) == 1


def part(store: Store | None, function: Callable[..., Any] = twice) -> Any:
    """A dispatcher of what only others call."""
    made = numba.njit(no_cpython_wrapper=True, pipeline_class=part_compiler())(function)
    keep_compiled(numba, made, store, "part")
    return made


def library(made: Any) -> Any:
    (compiled,) = made.overloads.values()
    return compiled.library


def test_parts_are_made_where_they_stand() -> None:
    """There is no machine code of a part, and none that is called."""
    inner = part(Store())

    def outer(values: Any) -> Any:
        total = 0
        for value in values:
            total += inner(value)
        return total

    made = dispatcher(Store(), outer)
    assert made(np.arange(5)) == 20
    assert hits(inner) == (0, 1)
    (found,) = inner.overloads.values()
    assert found.library.get_pointer_to_function(found.fndesc.llvm_func_name) == 0
    assert not re.search(r"call [^\n]*twice", library(made).get_llvm_str())


def test_parts_are_kept_and_loaded() -> None:
    """So that the next function that calls one is all that is compiled."""
    store = Store()

    def outer(made: Any) -> Any:
        def call(value: Any) -> Any:
            return made(made(value))

        return numba.njit(call)

    assert outer(part(store))(21) == 84
    assert len(store.kept) == 1
    again = part(store)
    assert outer(again)(21) == 84
    assert hits(again) == (1, 0)
    assert outer(again)(1.5) == 6.0
    assert hits(again) == (1, 1)
    assert (len(store.kept), store.reasons) == (2, [])


def tell(value: Any) -> Any:
    """Numba's code for this asks for Python's objects."""
    print("told", value)
    if value > 9:
        raise ValueError("beyond", value)
    return value


def test_parts_are_not_taken_for_what_can_be_called() -> None:
    """Nor are they kept under the same name."""
    kernels = [Kernel(cast(FunctionType, twice), noinline=noinline) for noinline in (False, True)]
    seen = []
    for kernel in kernels:
        inside = _compile(kernel, inside=True)
        seen.append(inside._cache._options)
    assert "'part': True" in seen[0]
    assert "'part': False" in seen[1]
    assert seen[0].replace("True}", "False}") == seen[1]


def test_parts_may_need_python_where_nothing_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    inner = part(None, tell)

    def outer(value: Any) -> Any:
        return inner(value) + 1

    made = numba.njit(outer)
    keep_compiled(numba, made, None, "")
    assert made(4) == 5
    assert capfd.readouterr().out == "told 4\n"


def test_parts_may_need_python(capfd: pytest.CaptureFixture[str]) -> None:
    """When they were compiled, when they were loaded, and when what calls them was."""
    parts, wholes = Store(), Store()
    for loaded in range(3):
        inner = part(parts, tell)

        def outer(value: Any) -> Any:
            return inner(value) + 1  # noqa: B023

        made = numba.njit(outer)
        keep_compiled(numba, made, wholes if loaded else Store(), "")
        assert made(4) == 5
        with pytest.raises(ValueError, match="beyond") as caught:
            made(10)
        assert caught.value.args == ("beyond", 10)
        assert capfd.readouterr().out == "told 4\ntold 10\n"
        assert hits(made) == ((1, 0) if loaded == 2 else (0, 1))
        assert hits(inner) == ((0, 0) if loaded == 2 else (1, 0) if loaded else (0, 1))
