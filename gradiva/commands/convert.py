"""`gradiva convert`: preprocessing of other packages as source code, and how both differ."""

from __future__ import annotations

import argparse
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradiva.convert as converters
from gradiva.eager.support.errors import GradivaError, OperatorValueError, wrong_value

__all__ = ["add_arguments", "run"]

_NAME = "__gradiva__"
"""The `__name__` of a file: what stands under `if __name__ == "__main__"` does not run."""
_PACKAGES = {
    "torchvision": "torchvision",
    "transformers": "huggingface",
    "albumentations": "albumentations",
}
"""By the package of an object's class: the converter."""
_CONFIGURATIONS = (
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva convert`."""
    parser.add_argument(
        "file",
        metavar="FILE_OR_FOLDER",
        help="FILE.py[:name], which is executed, with a transform of torchvision or Albumentations "
        "or an image processor; the folder of a model, or its preprocessor_config.json; or what "
        "albumentations.save wrote",
    )
    parser.add_argument("--images", metavar="DIR", help="compare with the original on these images")
    parser.add_argument(
        "--out",
        metavar="OUT.html",
        default="gradiva-convert.html",
        help="where --images writes the report",
    )
    parser.add_argument("--limit", type=int, default=64, help="how many images at most")
    parser.add_argument("--decode", action="store_true", help="begin with the bytes of image files")
    parser.add_argument(
        "--fallback", choices=["python"], help="run steps without counterpart in Python"
    )
    parser.add_argument(
        "--backend",
        choices=["pil", "tensor", "torchvision"],
        help="of torchvision: pil or tensor, what the transform is given; of transformers: pil or "
        "torchvision, whose arithmetic a processor has",
    )


def run(options: argparse.Namespace) -> int:
    """Print the code, and with --images the report. Returns 1 if a step is not as promised. Raises
    GradivaError."""
    convert, given = _source(options.file)
    keywords: dict[str, Any] = {"decode": options.decode, "fallback": options.fallback}
    if options.backend is not None:
        if convert not in (converters.torchvision, converters.huggingface):
            raise wrong_value("--backend", "nothing for this package", options.backend)
        keywords["backend"] = options.backend
    function = convert(given, **keywords)
    print(function.code())
    if options.images is None:
        return 0
    folder = Path(options.out).absolute().parent
    if not folder.is_dir():
        raise wrong_value("--out", "a file in a folder that exists", repr(options.out))
    if not Path(options.images).exists():
        raise wrong_value("--images", "images, or a folder of them", repr(options.images))
    report = function.report(options.images, limit=options.limit)
    print(report)
    report.save(options.out)
    print(f"report: {options.out}")
    return 0 if report.ok else 1


def _source(place: str) -> tuple[Callable[..., Any], Any]:
    """The converter, and what it converts. Raises OperatorValueError."""
    file, _, name = place.partition(".py:")
    path = Path(place if not name else f"{file}.py")
    if path.suffix == ".py":
        return _object(path, name)
    if path.is_dir():
        if any((path / one).is_file() for one in _CONFIGURATIONS):
            return _converter("huggingface"), str(path)
        raise wrong_value("file", f"a folder with a {_CONFIGURATIONS[0]}", str(path))
    if path.suffix in (".json", ".yaml", ".yml") and path.is_file():
        return _converter(_package_of(path)), str(path)
    raise wrong_value("file", "a .py, .json or .yaml file, or the folder of a model", str(path))


def _package_of(path: Path) -> str:
    """Whose configuration a file is."""
    if path.suffix != ".json":
        return "albumentations"
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise OperatorValueError(f"{path} cannot be read: {error}", argument="file") from error
    return "albumentations" if isinstance(found, dict) and "transform" in found else "huggingface"


def _object(path: Path, name: str) -> tuple[Callable[..., Any], Any]:
    """The object in a file that a converter takes; the one of this name, if there is one."""
    if not path.is_file():
        raise wrong_value("file", "a file that exists", str(path))
    try:
        names = runpy.run_path(str(path), run_name=_NAME)
    except GradivaError:
        raise
    except Exception as error:
        problem = f"{path} cannot be run: {type(error).__name__}: {error}"
        raise OperatorValueError(problem, argument="file") from error
    if name and name not in names:
        raise wrong_value("file", f"a name in {path}", name)
    chosen = {name: names[name]} if name else names
    found = {key: value for key, value in chosen.items() if _kind(value)}
    if len(found) != 1:
        got = ", ".join(sorted(found)) or "none"
        raise wrong_value(
            "file", f"one transform or image processor in {path} (FILE.py:name chooses)", got
        )
    (value,) = found.values()
    return _converter(_kind(value)), value


def _kind(value: Any) -> str:
    """The converter of an object; an empty text for others. Classes and modules are none."""
    if isinstance(value, type) or not hasattr(value, "__call__"):  # noqa: B004
        return ""
    kinds = [kind.__module__.partition(".")[0] for kind in type(value).__mro__]
    if kinds[0] == "torch" and type(value).__name__ == "Sequential":
        return "torchvision"
    return next((_PACKAGES[kind] for kind in kinds if kind in _PACKAGES), "")


def _converter(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(converters, name)
    return found
