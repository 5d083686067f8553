"""`gradiva run SCRIPT.py ARGS`: the script as Python runs it, with `nvidia.dali` served
by gradiva."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType, TracebackType
from typing import Any

from gradiva.compat.alias import install
from gradiva.compat.names import SOURCE, TARGET, reason_for
from gradiva.eager.support.errors import GradivaError

__all__ = ["main"]

_USAGE = """\
usage: gradiva run SCRIPT.py [ARGUMENT ...]
       gradiva run -m MODULE [ARGUMENT ...]

Runs a script or a module as Python does. What it imports from nvidia.dali is gradiva's, in the
processes that it starts by multiprocessing too. `gradiva check SCRIPT.py` says
beforehand what the script uses."""

_CANNOT_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments name; returns the exit status. What the script raises passes."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] == "-m" and len(arguments) < 2:
        return _refused("-m needs the name of a module")
    if arguments[0].startswith("-") and arguments[0] != "-m":
        return _refused(f"there is no option {arguments[0]}; the script's own follow its name")
    try:
        install()
    except GradivaError as error:
        return _refused(str(error))
    try:
        if arguments[0] == "-m":
            code, module = _module(arguments[1], list(arguments[1:]))
        else:
            code, module = _script(arguments[0], list(arguments))
    except _NotFoundError as error:
        return _refused(str(error))
    except SyntaxError:
        sys.excepthook = _short(sys.excepthook)
        raise
    # From here on it is the script's process. It stays so after the script's last line, for its
    # threads and functions that run at exit.
    sys.modules["__main__"] = module
    try:
        exec(code, vars(module))
    except (Exception, KeyboardInterrupt):
        # Passed on, for Python knows best which exit status it means.
        sys.excepthook = _short(sys.excepthook)
        raise
    return 0


class _NotFoundError(Exception):
    """There is nothing to run."""


def _script(file: str, arguments: list[str]) -> tuple[CodeType, ModuleType]:
    """The code of a file and its module, with `sys.argv` and `sys.path` as they are for it."""
    whole = os.path.abspath(file)
    try:
        with io.open_code(whole) as stream:
            text = stream.read()
    except OSError as error:
        raise _NotFoundError(f"{file} cannot be opened: {error.strerror}") from None
    sys.argv = arguments
    if not getattr(sys.flags, "safe_path", False):
        # In place of what Python put there for `-m gradiva`, or for the command `gradiva`.
        sys.path[0] = os.path.dirname(os.path.realpath(whole))
    module = ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", whole)
    names = {"__builtins__": __builtins__, "__file__": whole, "__cached__": None}
    vars(module).update(names, __loader__=loader, __package__=None)
    return compile(text, whole, "exec", dont_inherit=True), module


def _module(name: str, arguments: list[str]) -> tuple[CodeType, ModuleType]:
    """As `_script`, for `-m`."""
    sys.argv = arguments
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise _NotFoundError(f"{name} cannot be imported: {error}") from None
    loader: Any = None if spec is None else spec.loader
    code = loader.get_code(spec.name) if spec and hasattr(loader, "get_code") else None
    if spec is None or code is None:
        raise _NotFoundError(f"there is no module {name} that can be run")
    sys.argv[0] = spec.origin or name
    module = ModuleType("__main__")
    vars(module).update(
        __builtins__=__builtins__,
        __file__=spec.origin,
        __cached__=spec.cached,
        __loader__=loader,
        __package__=spec.parent,
        __spec__=spec,
    )
    return code, module


def _short(show: Callable[..., Any]) -> Callable[..., Any]:
    """An `excepthook` that shows the script's part of a traceback, and says what to do about a name
    that is not there."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        short = _of_script(error, trace)
        error.__traceback__ = short
        show(kind, error, short)
        matched = _CANNOT_IMPORT.match(str(error)) if isinstance(error, ImportError) else None
        if matched and f"{matched[2]}.".startswith((f"{SOURCE}.", f"{TARGET}.")):
            why = reason_for(f"{matched[2]}.{matched[1]}")
            if why is not None:
                print(f"gradiva: {why}", file=sys.stderr)

    return hook


def _of_script(error: BaseException, trace: TracebackType | None) -> TracebackType | None:
    """The traceback without what called the script, and without gradiva's frames where the error
    says all that there is to say."""
    places = []
    while trace is not None:
        places.append(trace)
        trace = trace.tb_next
    codes = [one.tb_frame.f_code for one in places]
    ours = [index for index, code in enumerate(codes) if code.co_filename == __file__]
    hidden = "gradiva." if isinstance(error, GradivaError) else "gradiva.compat."
    short: TracebackType | None = None
    for one in reversed(places[ours[-1] + 1 :] if ours else places):
        if not one.tb_frame.f_globals.get("__name__", "").startswith(hidden):
            short = TracebackType(short, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return short


def _refused(why: str) -> int:
    print(f"gradiva run: {why}", file=sys.stderr)
    return 2
