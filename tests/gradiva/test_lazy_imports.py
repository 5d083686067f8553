"""What is imported when: nothing with `gradiva` alone, and an operator when it is asked for."""

from __future__ import annotations

import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gradiva
from building.make_names import lazy_files
from gradiva import capture, fn
from gradiva.compat.dali.class_names import PACKAGES, classes
from gradiva.compat.dali.op_classes import OperatorClass
from gradiva.eager.operators.operator import operators
from gradiva.eager.values.value import arithmetic

ROOT = Path(__file__).parents[2]
LOADED = "import sys; print(*sorted(name for name in sys.modules if name.startswith({!r})))"


def run(program: str) -> str:
    """What a program prints in a fresh process."""
    arguments = [sys.executable, "-c", program]
    return subprocess.run(
        arguments, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ).stdout.strip()


def loaded(program: str, prefix: str = "gradiva") -> set[str]:
    """The modules that are there after a program."""
    return set(run(f"{program}\n{LOADED.format(prefix)}").split())


BARE = {
    "gradiva",
    "gradiva._names",
    "gradiva.compat",
    "gradiva.compat.aliases",
    "gradiva.compat.old_paths",
    "gradiva.eager",
    "gradiva.eager.support",
    "gradiva.eager.support.lazy_names",
}


def test_gradiva_alone() -> None:
    assert loaded("import gradiva") == BARE
    assert loaded("import gradiva", "numpy") == set()
    assert loaded("import gradiva.fn as fn") == BARE | {"gradiva.fn"}


@pytest.mark.full
def test_a_pipeline_without_operators() -> None:
    """None of them is there; of `ops`, what recording itself is made of."""
    found = loaded("from gradiva import fn, pipeline_def, types")
    packages = {".".join(name.split(".")[1:3]) for name in found if name.startswith("gradiva.ops.")}
    parts = ("arrays", "cache", "external_source", "indexing", "math", "readers")
    assert packages == {f"ops.{part}" for part in parts}
    few = "capture.loop capture.serialization capture.graph.svg display ops.storage "
    few += "ops.external_source.workers auto_aug extension plugin "
    few += "fn._shared_operators compat.alias"
    assert found & {f"gradiva.{name}" for name in few.split()} == set()
    assert len(found) < 251  # also schedules and the maps of coordinates, for declarations


def test_an_operator_comes_alone() -> None:
    found = loaded("import gradiva; gradiva.flip", "gradiva.ops.")
    assert "gradiva.ops.image.flip" in found
    others = [name for name in found if name.split(".")[2] != "image"]
    assert others == []
    assert "gradiva.ops.image.resize" not in found


@pytest.mark.parametrize("module", [*lazy_files(), "gradiva.capture"])
def test_names_are_there_for_everyone(module: str) -> None:
    """For `dir`, and so completion and `help`; for `import *`; and for `from ... import NAME`."""
    names: dict[str, Any] = {}
    exec(f"from {module} import *", names)
    names.pop("__builtins__")
    program = f"import {module}; print(*dir({module}))"
    assert names.keys() <= set(run(program).split())
    for name, value in names.items():
        again: dict[str, Any] = {}
        exec(f"from {module} import {name} as found", again)
        assert again["found"] is value


def test_names_with_mistakes() -> None:
    """Python looks for close ones among all."""
    program = "import gradiva, traceback\ntry: gradiva.rezise\nexcept AttributeError as error:\n"
    program += "    print(''.join(traceback.format_exception(error)), file=sys.stdout)"
    assert "resize" in dir(gradiva)
    assert "module 'gradiva' has no attribute 'rezise'" in run("import sys; " + program)
    with pytest.raises(ImportError, match=r"cannot import name 'rezise' from 'gradiva\.fn'"):
        exec("from gradiva.fn import rezise")


@pytest.mark.full
def test_arithmetic_finds_its_operators() -> None:
    program = "import gradiva, numpy as np; batch = gradiva.batch([np.arange(3)])\n"
    assert run(program + "print((batch + 1).tensors[0], (np.float32(2) * batch).shape)")
    assert run(program + "print(batch.slice[1:].shape, -batch == 1)")
    assert "getitem" in arithmetic
    assert "add" in arithmetic.names()


@pytest.mark.full
def test_operators_are_unpickled_where_they_are_not_imported_yet() -> None:
    for name in ("math.sqrt", "resize", "readers.file", "add"):
        data = pickle.dumps(operators[name])
        assert run(f"import pickle; print(pickle.loads({data!r}).name)") == name


@pytest.mark.full
def test_users_cannot_take_the_name_of_an_operator_that_is_not_imported_yet() -> None:
    program = """
from gradiva.extension import SampleType, operator
try:
    @operator("mfcc")
    def mfcc(input: SampleType, /) -> SampleType: return input
except ValueError as error: print(error)
"""
    assert "gradiva has an operator of the name 'mfcc'" in run(program)


@pytest.mark.full
def test_one_class_is_made_when_it_is_asked_for() -> None:
    program = "from gradiva import ops; ops.Resize"
    assert "gradiva.ops.audio" not in loaded(program)
    assert run(f"{program}; from gradiva.ops.experimental import readers; print(readers.Fits)")


def test_packages_of_classes_are_the_modules_of_pipeline_mode() -> None:
    modules = pkgutil.walk_packages(fn.__path__, "gradiva.fn.")
    names = {module.name.removeprefix("gradiva.fn.") for module in modules}
    assert {name for name in names if name[0] != "_" and "._" not in name} == set(PACKAGES)
    assert all(issubclass(made, OperatorClass) for made in classes.values() if "infer" in dir(made))


@pytest.mark.full
def test_threads_get_the_same() -> None:
    """However many ask at once in a fresh process."""
    program = """
import gradiva, threading
from gradiva import fn, ops
start, found = threading.Barrier(8), []
def ask():
    start.wait()
    for name in ("resize", "decoders", "readers", "Batch", "pipeline_def", "mfcc"):
        found.append((name, getattr(gradiva, name)))
    found.append(("flip", fn.flip))
    found.append(("Rotate", ops.Rotate))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), len({id(one) for _, one in found}))
"""
    assert run(program) == "64 8"


def test_names_of_capture() -> None:
    assert capture.optimise is capture.optimize
    assert {"Graph", "compile", "trace"} <= set(dir(capture))


@pytest.mark.parametrize("module", [gradiva, fn])
def test_names_of_other_libraries(module: Any) -> None:
    assert not hasattr(module, "color_jitter")
    words = r"has no attribute 'color_jitter'; see docs/coming_from_torchvision\.md"
    with pytest.raises(AttributeError, match=words):
        getattr(module, "color_jitter")  # noqa: B009
