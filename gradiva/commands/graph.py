"""`gradiva graph`: the graph of a pipeline in a file, before and after compilation."""

from __future__ import annotations

import argparse
import inspect
import runpy
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gradiva.capture.compiler.optimize import optimize
from gradiva.capture.graph.graph import Graph
from gradiva.capture.graph.svg import before_after
from gradiva.capture.pipeline.pipeline import Pipeline
from gradiva.capture.pipeline.pipeline_def import PipelineFactory, pipeline_def
from gradiva.eager.support.errors import GradivaError, OperatorValueError
from gradiva.ops.external_source.external_source import external_source

__all__ = ["add_arguments", "find_pipelines", "made", "missing_arguments", "only_pipeline", "run"]

_NAME = "__gradiva__"
"""The file's `__name__`: what stands under `if __name__ == "__main__"` does not run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva graph`."""
    parser.add_argument(
        "file",
        metavar="FILE.py[:name]",
        help="a file, which is executed, and in it a function made by pipeline_def, a Pipeline, "
        "or a function of batches; the name may be left out if there is one pipeline",
    )
    parser.add_argument("--svg", metavar="OUT.svg", help="write a picture of both graphs")
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--dot", action="store_true", help="print the compiled graph for Graphviz instead"
    )
    form.add_argument(
        "--mermaid", action="store_true", help="print the compiled graph as Mermaid instead"
    )


def run(options: argparse.Namespace) -> int:
    """Print the graphs and write the picture. Returns the exit status."""
    before = find_graph(options.file)
    after = optimize(before)
    if options.dot:
        print(after.to_dot(), end="")
    elif options.mermaid:
        print(after.to_mermaid(), end="")
    else:
        print(f"# as recorded\n{before}\n\n# compiled\n{after}")
    if options.svg:
        try:
            Path(options.svg).write_text(before_after(before, after)._repr_svg_(), "utf-8")
        except OSError as error:
            raise _refusal(f"the picture cannot be written: {error}", "--svg") from error
    return 0


def find_graph(place: str) -> Graph:
    """The recorded graph of `FILE.py` or `FILE.py:name`. Raises OperatorValueError."""
    return _graph(*only_pipeline(place))


def only_pipeline(place: str) -> tuple[Any, str]:
    """What `FILE.py:name` names, or the one pipeline of `FILE.py`, and its name. Raises
    OperatorValueError."""
    pipelines = find_pipelines(place)
    if len(pipelines) > 1:
        raise _refusal(
            f"{place} has several pipelines: name one of {', '.join(pipelines)}, as in "
            f"{place}:{next(iter(pipelines))}"
        )
    ((only, value),) = pipelines.items()
    return value, only


def find_pipelines(place: str) -> dict[str, Any]:
    """What `FILE.py:name` names, or the pipelines of `FILE.py`, one or more; the file is executed.
    Raises OperatorValueError."""
    file, _, name = place.partition(":") if not Path(place).is_file() else (place, "", "")
    found = _load(Path(file))
    pipelines = _pipelines(found)
    if name:
        if name not in found:
            names = ", ".join(pipelines) or "none"
            raise _refusal(f"{file} has no `{name}`; its pipelines: {names}")
        return {name: found[name]}
    if not pipelines:
        raise _refusal(
            f"{file} has no pipeline: decorate a function with pipeline_def, or name a function "
            f"of batches as {file}:name"
        )
    return pipelines


def _load(file: Path) -> dict[str, Any]:
    """The names of a file, after it was executed like a script."""
    if not file.is_file():
        raise _refusal(f"there is no file {file}")
    before = list(sys.path)
    sys.path.insert(0, str(file.resolve().parent))
    try:
        return runpy.run_path(str(file), run_name=_NAME)
    except GradivaError:
        raise
    except (Exception, SystemExit) as error:
        raise _refusal(f"{file} fails: {type(error).__name__}: {error}") from error
    finally:
        sys.path[:] = before


def _pipelines(found: dict[str, Any]) -> dict[str, Any]:
    """Pipelines and their factories; those that the file itself defines, if there are any."""
    values = {
        name: value
        for name, value in found.items()
        if isinstance(value, Pipeline | PipelineFactory)
    }
    own = {
        name: value
        for name, value in values.items()
        if isinstance(value, Pipeline) or value.function.__module__ == _NAME
    }
    # A factory, and a pipeline that it made, are one thing to a reader of the file.
    makers = {name: value for name, value in own.items() if isinstance(value, PipelineFactory)}
    return makers or own or values


def _graph(value: Any, name: str) -> Graph:
    if isinstance(value, types.FunctionType):
        return pipeline_def(batch_size=1)(_fed(value))().graph
    return made(value, name).graph


def made(value: Any, name: str) -> Pipeline:
    """A pipeline, or what its factory makes without arguments. Raises OperatorValueError."""
    if isinstance(value, Pipeline):
        return value
    if isinstance(value, PipelineFactory):
        _refuse_missing(value.function, name)
        options = {} if "batch_size" in value.options else {"batch_size": 1}
        pipe: Pipeline = value(**options)
        return pipe
    raise _refusal(f"`{name}` is no pipeline and no function, but a {type(value).__name__}")


def _fed(function: Callable[..., Any]) -> Callable[[], Any]:
    """The function with an external source for each argument that has no default."""

    def captured() -> Any:
        names = [parameter.name for parameter in missing_arguments(function)]
        return function(*[external_source(from_outside, name=name) for name in names])

    captured.__name__ = captured.__qualname__ = function.__name__
    return captured


def from_outside() -> Any:
    """Stands in graphs for the source of an argument; it has no data."""
    raise StopIteration


def missing_arguments(function: Callable[..., Any]) -> list[inspect.Parameter]:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind in positional
    ]


def _refuse_missing(function: Callable[..., Any], name: str) -> None:
    missing = [parameter.name for parameter in missing_arguments(function)]
    if missing:
        raise _refusal(
            f"`{name}` needs arguments ({', '.join(missing)}): give them defaults, or make the "
            f"pipeline in the file, as `pipe = {name}(...)`, and name that"
        )


def _refusal(problem: str, argument: str | None = None) -> OperatorValueError:
    return OperatorValueError(problem, argument=argument)
