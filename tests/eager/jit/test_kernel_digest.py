"""A kernel is compiled again when anything changes that it is compiled from, and only then."""

from __future__ import annotations

import ast
import dis
import functools
import gc
import importlib
import inspect
import json
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest

import gradiva
from gradiva.eager.jit import kernel_digest as digests
from gradiva.eager.jit.jit import Kernel
from gradiva.eager.jit.kernel_digest import (
    UndescribedError,
    extensions,
    global_names,
    kernel_digest,
    reached_functions,
)
from gradiva.eager.jit.numba_adapter import vector_type
from gradiva.eager.jit.numba_compiler import noinline_call
from tests.eager.jit.package_copy import (
    LAYERS,
    ROOT,
    copy_package,
    edit_functions,
    edit_text,
    rewrite,
    run_script,
)
from tests.everything import EVERYTHING
from tests.tiers import few

# What caches read and write with: no operator imports it.
ALL = f"{EVERYTHING}\nfrom gradiva.ops.cache import read_several, write_several"
exec(ALL, {})


def own_kernels() -> list[Kernel]:
    """All kernels of the package."""
    gc.unfreeze()  # what was there before the tests is frozen, and not told
    # `isinstance` would wake weak proxies of objects that are gone.
    found = [it for it in gc.get_objects() if type(it) is Kernel]
    gc.freeze()
    return [it for it in found if (it.function.__module__ or "").startswith("gradiva.")]


def file_of(function: types.FunctionType) -> str:
    """Where a function of the package stands, from the root of the repository."""
    path = Path(function.__code__.co_filename).resolve()
    return path.relative_to(ROOT).as_posix()


def extension_files() -> list[str]:
    """The files of all extensions of Numba, and of all that these are made of."""
    return sorted({file_of(it) for stub in extensions for it in reached_functions(stub)})


def kernel_files() -> list[str]:
    """The files of all kernels, without those of extensions."""
    reached = {file_of(it) for kernel in own_kernels() for it in reached_functions(kernel.function)}
    return sorted(reached - set(extension_files()))


# Every kernel, and every C function around one: a digest, and the files that have a part in it.
DIGESTS = f"""
import gc, json, pathlib, sys
{ALL}
"""
DIGESTS += """
from gradiva.eager.rows import row_kernel as rows
from gradiva.eager.jit.jit import Kernel, _copied
from gradiva.eager.jit.kernel_digest import kernel_digest, reached_functions
functions = {}
for it in gc.get_objects():
    if type(it) is Kernel:
        functions[repr(it)] = it.function
    if type(it) is rows.RowKernel:
        entry = rows._ENTRIES[it.kind]
        functions[repr(it)] = _copied(entry, {"row": it._kernel}, repr(it))
root = pathlib.Path.cwd().resolve()
found = {}
for name, function in functions.items():
    files = {pathlib.Path(f.__code__.co_filename).resolve() for f in reached_functions(function)}
    files = sorted(file.relative_to(root).as_posix() for file in files)
    found[name] = kernel_digest(function), files
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def before(copy: Path) -> dict[str, Any]:
    """The digests of the package as it is."""
    found: dict[str, Any] = run_script(DIGESTS, copy, copy / "cache")
    assert len(found) > 100
    return found


def require_changed(copy: Path, before: dict[str, Any], *edited: str) -> None:
    """Edit files: the kernels that are made of them have other digests, all others the same."""
    whole = {file: (copy / file).read_bytes() for file in edited}
    try:
        for file in edited:
            edit_functions(copy / file)
        after = run_script(DIGESTS, copy, copy / "cache")
    finally:
        for file, content in whole.items():
            rewrite(copy / file, content)
    changed = {name for name in before if before[name][0] != after[name][0]}
    for file in edited:
        assert any(file in files for _, files in before.values()), file
    expected = {name for name, (_, files) in before.items() if not whole.keys().isdisjoint(files)}
    assert changed == expected


def apart(files: list[str], before: dict[str, Any]) -> list[list[str]]:
    """The files in groups, of which no kernel is made of two: who edits a whole group sees of each
    of its files which kernels are made of it."""
    groups: list[list[str]] = []
    used = {file: {name for name, (_, made) in before.items() if file in made} for file in files}
    for file in sorted(files, key=lambda one: -len(used[one])):
        for group in groups:
            if all(used[file].isdisjoint(used[other]) for other in group):
                group.append(file)
                break
        else:
            groups.append([file])
    return groups


@pytest.mark.parametrize("file", few(extension_files(), count=1))
@pytest.mark.full
def test_an_edited_extension_changes_the_kernels_that_use_it(
    copy: Path, before: dict[str, Any], file: str
) -> None:
    require_changed(copy, before, file)


@pytest.mark.full
@pytest.mark.parametrize("part", range(4))
def test_an_edited_file_changes_the_kernels_that_use_it(
    copy: Path, before: dict[str, Any], part: int
) -> None:
    groups = apart(kernel_files(), before)
    assert sum(map(len, groups)) == len(kernel_files()) > 50
    for group in groups[part::4]:
        require_changed(copy, before, *group)


def test_extensions_are_found() -> None:
    """The bodies of conversions, and what intrinsics use of Numba: no kernel mentions them."""
    found = {"eager/rows/convert.py", "eager/simd/intrinsics.py", "eager/jit/numba_adapter.py"}
    assert found <= set(extension_files())
    using = [it for it in own_kernels() if "convert_sat" in global_names(it.function)]
    assert len(using) > 5
    for kernel in using:
        names = {it.__qualname__ for it in reached_functions(kernel.function)}
        assert {"_float32_to_unsigned", "_uint64_to_int", "_plain"} <= names
        assert "convert_array" not in names  # what `convert_sat` does outside of kernels


EXTENDING = {
    "overload", "overload_method", "overload_attribute", "overload_classmethod", "intrinsic",
    "lower_builtin", "lower_cast", "lower_getattr", "type_callable", "infer", "infer_global",
    "infer_getattr", "typeof_impl", "register_model", "register_jitable", "models", "unbox", "box",
    "make_attribute_wrapper", "as_numba_type", "register_dispatcher",
}  # fmt: skip


@pytest.mark.full
def test_numba_is_extended_through_register_extension_only() -> None:
    """`register_extension` and `register_intrinsic` alone call Numba's decorators; the rest stands
    in what they are given, or makes the calls of noinline kernels, or the types of vectors."""
    own = [cast(types.FunctionType, one) for one in (noinline_call, vector_type)]
    sources: dict[str, str] = {}
    for maker in [*extensions.values(), *own]:
        file = file_of(maker)
        sources[file] = sources.get(file, "") + inspect.getsource(maker)
    seen = set()
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.py"):
            tree = ast.parse(path.read_text("utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and "numba" in (node.module or ""):
                    assert not EXTENDING & {name.name for name in node.names}, path
                if isinstance(node, ast.Attribute) and node.attr in EXTENDING:
                    text = ast.unparse(node)
                    if "numba" not in text:
                        continue
                    file = path.resolve().relative_to(ROOT).as_posix()
                    seen.add((file, text))
                    if file != "eager/jit/jit.py":
                        assert text in sources[file], (file, text)
    assert ("eager/jit/jit.py", "numba.extending.overload") in seen
    assert ("eager/jit/jit.py", "numba.extending.intrinsic") in seen


# One row kernel, called as a fused group calls it.
CAST = """
import ctypes, json, numpy as np, gradiva
from gradiva.eager.jit.jit import compiled_kernels
from gradiva.ops.arrays.cast import cast_row
source = np.array([2.4, 2.6, 300.0, np.nan], np.float32)
target, parameters = np.zeros(4, np.uint8), np.zeros(1, np.float32)
address = cast_row.address(source.dtype, target.dtype)
row = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 9)(address)
row(source.ctypes.data, target.ctypes.data, 4, 0, 0, 1, 1, parameters.ctypes.data, 1)
print(json.dumps([target.tolist(), sorted({name for name, _ in compiled_kernels})]))
"""


@pytest.mark.full
def test_new_code_runs_after_an_update(tmp_path: Path) -> None:
    """Machine code of the old sources is not used; and a change of no kernel compiles nothing."""
    copy = copy_package(tmp_path / "package")
    values, compiled = run_script(CAST, copy, tmp_path)
    assert values == [2, 3, 255, 0]
    assert compiled
    assert run_script(CAST, copy, tmp_path) == [[2, 3, 255, 0], []]
    # No kernel is made of these: lines, comments, what is not for kernels, the engine itself.
    edit_text(
        copy / "eager/rows/convert.py", "low, high = max(", "_edited = 12345\n    low, high = max("
    )
    for file in (
        "eager/rows/convert.py",
        "eager/rows/row_kernel.py",
        "eager/jit/jit.py",
        "ops/arrays/cast.py",
    ):
        text = (copy / file).read_text("utf-8")
        (copy / file).write_text("# A line more.\n\n" + text + "\n\nNOTHING = 1\n", "utf-8")
    edit_text(copy / "eager/jit/jit.py", "<kernel {self", "<a kernel {self")
    assert run_script(CAST, copy, tmp_path) == [[2, 3, 255, 0], []]
    rounded = "np.int32(clipped + np.float32(_BELOW_HALF_32))"
    edit_text(copy / "eager/rows/convert.py", rounded, f"{rounded} + 1")
    values, compiled = run_script(CAST, copy, tmp_path)
    assert values == [3, 4, 0, 1]
    assert compiled
    assert run_script(CAST, copy, tmp_path) == [[3, 4, 0, 1], []]
    # How kernels are compiled has a part, too.
    edit_text(copy / "eager/jit/jit.py", '"error_model": "numpy"', '"error_model": "python"')
    values, compiled = run_script(CAST, copy, tmp_path)
    assert values == [3, 4, 0, 1]
    assert compiled


def test_all_kernels_can_be_described() -> None:
    assert len({kernel_digest(kernel.function) for kernel in own_kernels()}) > 100


def _deep(size: int) -> Callable[[], Any]:
    """A function with more names than one byte of code can number."""
    scope: dict[str, Any] = {}
    names = ", ".join(f"name_{k}" for k in range(size))
    exec(f"def deep():\n    return {names}", scope)
    result: Callable[[], Any] = scope["deep"]
    return result


@pytest.mark.full
@pytest.mark.parametrize("size", [1, 127, 128, 300, 70000])
def test_global_names_are_those_of_dis(size: int) -> None:
    function = _deep(size)
    assert isinstance(function, types.FunctionType)
    assert global_names(function) == {f"name_{k}" for k in range(size)}


@pytest.mark.full
def test_global_names_of_all_kernels_are_those_of_dis() -> None:
    for kernel in own_kernels():
        code = kernel.function.__code__
        steps = [step for part in digests._codes(code) for step in dis.get_instructions(part)]
        loads = {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        assert global_names(kernel.function) == loads


class Pair(NamedTuple):
    one: int
    two: int


VALUE: Any = 1
MODULE = types.ModuleType("constants_of_a_user")
MODULE.inner = types.ModuleType("constants_of_a_user.inner")  # type: ignore[attr-defined]


def uses_value() -> Any:
    return VALUE


def uses_attribute() -> Any:
    return MODULE.SIZE, MODULE.inner.DEPTH


def one() -> int:
    return 1


def two() -> int:
    return 2


VALUES: list[Any] = [
    1,
    1.0,
    True,
    "1",
    b"1",
    None,
    1j,
    0.0,
    -0.0,
    (1,),
    [1],
    (1, (2,)),
    {1},
    frozenset({1}),
    {1: 2},
    {2: 1},
    np.float32(1),
    np.float64(1),
    np.uint8(1),
    np.ones(3),
    np.ones(3, np.float32),
    np.ones((3, 1)),
    np.zeros(3),
    np.asfortranarray(np.ones((3, 4))),
    np.ones((3, 4)),
    np.dtype(np.uint8),
    np.uint8,
    gradiva.uint8,
    gradiva.float32,
    np.floor,
    np.where,
    np.array([1, "a"], object),
    one,
    two,
    Pair,
    Pair(1, 2),
    Kernel(cast(types.FunctionType, one)),
    Kernel(cast(types.FunctionType, two)),
    Kernel(cast(types.FunctionType, one), inline=True),
    len,
]


def test_values_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each constant gives another digest, and the same again."""
    found = []
    for value in VALUES:
        monkeypatch.setitem(globals(), "VALUE", value)
        if isinstance(value, np.ndarray) and value.dtype == object:
            with pytest.raises(UndescribedError, match="uses_value uses VALUE, a value of the"):
                kernel_digest(uses_value)
            continue
        found.append(kernel_digest(uses_value))
        assert kernel_digest(uses_value) == found[-1]
    assert len(set(found)) == len(found) == len(VALUES) - 1


def test_long_arrays_are_compared_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    found = set()
    for place in (0, 500, 999):
        array = np.zeros((1000, 3))
        array[place] = 1e-12
        monkeypatch.setitem(globals(), "VALUE", (array, "nested"))
        found.add(kernel_digest(uses_value))
    assert len(found) == 3


def test_attributes_of_modules_have_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for size, depth in ((1, 1), (2, 1), (2, 2), (2, two), (2, one)):
        monkeypatch.setattr(MODULE, "SIZE", size, raising=False)
        monkeypatch.setattr(MODULE.inner, "DEPTH", depth, raising=False)
        found.append(kernel_digest(uses_attribute))
    assert len(set(found)) == 5


def test_functions_inside_functions_have_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(number: int, default: int = 0) -> Callable[[], Any]:
        def inner(value: int = default) -> Any:
            def innermost() -> Any:
                return VALUE, number

            return innermost()

        return inner

    found = [kernel_digest(made(number, default)) for number in (1, 2) for default in (1, 2)]
    monkeypatch.setitem(globals(), "VALUE", 3)
    found.append(kernel_digest(made(1, 1)))
    assert len(set(found)) == 5


def test_the_file_of_a_users_kernel_has_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users may give Numba overloads of their own beside a kernel; so any edit counts."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "kernels_of_a_user.py"
    path.write_text("def one():\n    return 1\n", "utf-8")
    function = importlib.import_module("kernels_of_a_user").one
    try:
        found = {kernel_digest(function)}
        path.write_text("def one():\n    return 1\n# more\n", "utf-8")
        found.add(kernel_digest(function))
        path.unlink()
        found.add(kernel_digest(function))
    finally:
        del sys.modules["kernels_of_a_user"]
    assert len(found) == 3


def test_functions_of_one_name_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = (lambda: 1), (lambda: 2), (lambda: 3)
    found = set()
    for pair in ((first, second), (first, third), (second, first)):
        monkeypatch.setitem(globals(), "VALUE", pair)
        found.add(kernel_digest(uses_value))
    assert len(found) == 3


@pytest.mark.full
def test_sets_in_code_are_in_no_order(copy: Path, tmp_path: Path) -> None:
    """The digest of a test for membership is the same in each process."""
    script = (
        "import json\n"
        "from gradiva.eager.jit.kernel_digest import kernel_digest\n"
        "def chosen(word): return word in {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}\n"
        "print(json.dumps(kernel_digest(chosen)))\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        found = set()
        for seed in ("1", "2"):
            patch.setenv("PYTHONHASHSEED", seed)
            found.add(run_script(script, copy, tmp_path))
    assert len(found) == 1


def test_what_cannot_be_described_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (threading.Lock(), object(), functools.partial(one), gradiva.flip, (object(),)):
        monkeypatch.setitem(globals(), "VALUE", value)
        with pytest.raises(UndescribedError, match=r"test_kernel_digest\.uses_value uses VALUE"):
            kernel_digest(uses_value)
    # Only an attribute has this name: the global is none of the kernel's.
    monkeypatch.setitem(globals(), "SIZE", object())
    monkeypatch.setattr(MODULE, "SIZE", 1, raising=False)
    assert json.dumps(kernel_digest(uses_attribute))
