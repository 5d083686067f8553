"""What gradiva uses of Numba's own parts, one by one; `pyproject.toml` says for which versions."""

from __future__ import annotations

import ctypes
import importlib
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradiva.eager.jit import numba_adapter
from gradiva.eager.jit.jit import load_numba
from gradiva.eager.jit.numba_adapter import (
    array_part,
    c_callback,
    can_compile,
    first_element,
    fixed_tuple,
    has_feature,
    keep_compiled,
    llvm,
    no_value,
    on_compile,
    ownerless_array,
    vector_root,
    vector_type,
)
from tests.eager.jit.package_copy import ROOMS, ROOT

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
    for name in numba_adapter._SETTINGS:
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
    assert len(found) == 2 + len(numba_adapter._SETTINGS) + 3 + 1
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


def intrinsic(generate: Callable[..., Any], kind: Callable[[Any], Any]) -> Any:
    """A compiled function of one array: `generate` makes its code, `kind` says what it returns."""

    def call(typing_context, array):  # type: ignore[no-untyped-def]
        return kind(array)(array), generate

    made = numba.extending.intrinsic(call)

    def body(array: Any) -> Any:
        return made(array)

    return numba.njit(body)


def test_code_reads_and_writes_elements() -> None:
    """`first_element`, in LLVM's own terms."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        ir, cgutils = llvm()
        first = first_element(context, builder, signature.args[0], values[0])
        word = ir.IntType(64)
        total = cgutils.alloca_once_value(builder, ir.Constant(word, 0))
        zero, three, one = (ir.Constant(word, k) for k in (0, 3, 1))
        with cgutils.for_range_slice(builder, zero, three, one, inc=True) as (k, _):
            element = builder.load(builder.gep(first, [k]))
            builder.store(builder.add(builder.load(total), element), total)
        return builder.load(total)

    add_three = intrinsic(generate, lambda array: array.dtype)
    assert add_three(np.array([5, 7, 11, 1000])) == 23
    assert add_three(np.arange(10)[6:]) == 21


def test_code_returns_nothing() -> None:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        ir, _ = llvm()
        first = first_element(context, builder, signature.args[0], values[0])
        builder.store(ir.Constant(ir.IntType(64), 42), first)
        return no_value(context)

    array = np.arange(3)
    assert intrinsic(generate, lambda array: numba.types.none)(array) is None
    assert array.tolist() == [42, 1, 2]


@pytest.mark.full
def test_arrays_without_an_owner_are_not_counted() -> None:
    """Their slices hold nothing, and the values are the same."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return ownerless_array(context, builder, signature.return_type, values[0])

    ownerless = intrinsic(generate, lambda array: array).py_func

    def total(array: Any) -> Any:
        part = ownerless_kernel(array)[2:]
        result = 0
        for k in range(part.size):
            result += part[k]
        return result

    ownerless_kernel = numba.njit(ownerless)
    compiled = numba.njit(total)
    array = np.arange(6)
    before = sys.getrefcount(array)
    assert compiled(array) == 14
    assert sys.getrefcount(array) == before

    def without(array: Any) -> Any:
        return array[2:]

    kept = numba.njit(without)(array)
    assert kept.base is not None
    loose = numba.njit(lambda array: ownerless_kernel(array)[2:])(array)
    assert loose.base is None
    assert loose.tolist() == [2, 3, 4, 5]


def test_parts_of_arrays() -> None:
    """`array_part`: the elements of a slice, written too, with nothing counted."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return array_part(context, builder, signature.return_type, *values)

    def call(typing_context, array, first, size):  # type: ignore[no-untyped-def]
        return array(array, numba.int64, numba.int64), generate

    made = numba.extending.intrinsic(call)

    def part(array: Any, first: int, size: int) -> Any:
        found = made(array, first, size)
        found[0] = -1
        return found

    array = np.arange(8, dtype=np.int16)
    found = numba.njit(part)(array, 2, 3)
    assert found.tolist() == [-1, 3, 4]
    assert found.base is None
    assert found.strides == (2,)
    assert array.tolist() == [0, 1, -1, 3, 4, 5, 6, 7]


@pytest.mark.full
def test_tuples_of_a_fixed_size() -> None:
    fixed = fixed_tuple()

    def viewed(array: Any, shape: Any) -> Any:
        return array.reshape(fixed(shape, 2)).shape

    assert numba.njit(viewed)(np.arange(6), np.array([2, 3])) == (2, 3)


def test_vectors() -> None:
    """`vector_type`, made once; `vector_root`: of each lane."""
    four = vector_type(numba, 4)
    assert vector_type(numba, 4) is four
    assert vector_type(numba, 4, 64) is not four
    ir, _ = llvm()

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.Constant(context.get_value_type(four), ir.Undefined)
        for lane in range(4):
            vector = builder.insert_element(vector, values[0], ir.Constant(ir.IntType(32), lane))
        return vector_root(builder, vector)

    def last(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.extract_element(values[0], ir.Constant(ir.IntType(32), 3))

    def spread_call(typing_context, number):  # type: ignore[no-untyped-def]
        return four(numba.float32), generate

    def last_call(typing_context, vector):  # type: ignore[no-untyped-def]
        return numba.float32(vector), last

    roots, lane = (numba.extending.intrinsic(call) for call in (spread_call, last_call))
    made = numba.njit(lambda number: lane(roots(number)))(2.0)
    assert made == np.sqrt(np.float32(2))


def test_features() -> None:
    """`has_feature`: what the processor has that is compiled for."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        found = has_feature(context, "avx2"), has_feature(context, "no such feature")
        return llvm()[0].Constant(llvm()[0].IntType(64), 2 * found[0] + found[1])

    def call(typing_context):  # type: ignore[no-untyped-def]
        return numba.int64(), generate

    features = numba.extending.intrinsic(call)
    has = importlib.import_module("llvmlite.binding").get_host_cpu_features().get("avx2", False)

    def found() -> Any:
        return features()

    assert numba.njit(found)() == 2 * has


def test_which_functions_can_be_compiled_for_new_types() -> None:
    assert can_compile(twice)
    assert can_compile(numba.njit(twice))
    assert not can_compile(numba.njit("int64(int64)")(twice))


def test_nothing_else_uses_what_is_numbas_own() -> None:
    private = re.compile(
        r"numba\.core\.(?!errors)|numba\.np\b|\._cache\b|\._rebuild|CACHE_DIR"
        r"|make_array\(|get_dummy_value|_getvalue|_can_compile"
    )
    users = {
        path.resolve().relative_to(ROOT).as_posix()
        for room in ROOMS
        for path in Path(ROOT / room).rglob("*.py")
        if private.search(path.read_text("utf-8"))
    }
    assert users == {"eager/jit/numba_adapter.py"}
