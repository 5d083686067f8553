"""`python -m gradiva scan`: what is wrong with the images in a folder."""

from __future__ import annotations

import argparse
import csv
import io
import os
import warnings
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradiva.eager.readers.progress import counted
from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import GradivaError, OperatorValueError
from gradiva.eager.support.lazy_import import lazy_module
from gradiva.eager.values.batch import batch
from gradiva.ops.decoders.image.image import image as decode

__all__ = ["add_arguments", "run"]

pillow: Any = lazy_module("PIL.Image", "pillow")

SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff"),
    *(".pnm", ".ppm", ".pgm", ".pbm", ".jp2", ".webp"),
)
_TURNED = 0x0112
"""The tag of EXIF that says how a picture is to be turned."""
_BATCH = 64
_SIDES = (64, 128, 256, 512, 1024, 2048)


class Found(NamedTuple):
    """What was found out about a file. problem: "" for none."""

    path: str
    size: int
    width: int = 0
    height: int = 0
    mode: str = ""
    orientation: int = 1
    digest: str = ""
    problem: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `python -m gradiva scan`."""
    parser.add_argument("folder", help="the folder whose images are looked at, at any depth")
    parser.add_argument(
        "--decode", action="store_true", help="decode each image, instead of its header alone"
    )
    parser.add_argument(
        "--table", metavar="FILE.csv", help="write a row for each file, which readers.csv reads"
    )
    parser.add_argument(
        "--list",
        metavar="FILE.txt",
        help="write the images without problems, each content once, with labels by their folders: "
        "the file_list of readers.file",
    )


def run(options: argparse.Namespace) -> int:
    """Print the report and write the files. Returns 1 for a damaged image. Raises GradivaError."""
    root = Path(options.folder)
    paths = sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file()
    )
    if not paths:
        raise OperatorValueError(
            operator="scan", argument="folder", expected="a folder with images", got=str(root)
        )
    found: list[Found] = []
    pool = default_pool()
    for first in counted(range(0, len(paths), _BATCH), "scan"):
        part = paths[first : first + _BATCH]
        made: list[Found | None] = [None] * len(part)

        def look(
            begin: int, end: int, part: list[str] = part, made: list[Found | None] = made
        ) -> None:
            for number in range(begin, end):
                made[number] = look_at(root, part[number])

        pool.run(look, [(number, number + 1) for number in range(len(part))])
        seen = [one for one in made if one is not None]
        found += decoded(root, seen) if options.decode else seen
    report(found)
    for place, write in ((options.table, _write_table), (options.list, _write_list)):
        if place:
            try:
                write(Path(place), root, found)
            except OSError as error:
                raise OperatorValueError(f"{place} cannot be written: {error}") from error
    return int(any(one.problem for one in found))


def decoded(root: Path, found: list[Found]) -> list[Found]:
    """The same, with what decoding shows."""
    good = [one for one in found if not one.problem]
    problems: dict[str, str] = {}
    # All at once by all threads; and one by one, to learn which it is, if that fails.
    for part in [good, *([one] for one in good)] if good else ():
        try:
            data = [np.fromfile(root / one.path, np.uint8) for one in part]
            decode(batch(data))
            if part is good:
                return found
        except (GradivaError, OSError) as error:
            if part is not good:
                reason = error.problem if isinstance(error, GradivaError) else str(error)
                problems[part[0].path] = f"damaged: {reason}"
    return [one._replace(problem=problems.get(one.path, one.problem)) for one in found]


def look_at(root: Path, path: str) -> Found:
    """One file."""
    try:
        data = (root / path).read_bytes()
    except OSError as error:
        return Found(path, 0, problem=f"cannot be read: {error.strerror}")
    digest = blake2b(data, digest_size=16).hexdigest()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pillow.open(io.BytesIO(data)) as picture:
                turned = int(picture.getexif().get(_TURNED, 1) or 1)
                (width, height), mode = picture.size, picture.mode
    except Exception as error:  # noqa: BLE001  Pillow raises whatever its plugins do
        return Found(path, len(data), digest=digest, problem=f"damaged: {type(error).__name__}")
    problem = "ends early" if _ends_early(data) else ""
    return Found(path, len(data), width, height, mode, turned, digest, problem)


def _ends_early(data: bytes) -> bool:
    """Whether a JPEG or PNG file lacks its end."""
    end = data[-4096:]
    if data.startswith(b"\xff\xd8"):
        return b"\xff\xd9" not in end
    return data.startswith(b"\x89PNG") and b"IEND" not in end


def report(found: list[Found]) -> None:
    """Print what there is."""
    several = Counter(one.digest for one in found if one.digest)
    groups: list[tuple[str, list[Found]]] = [
        ("damaged or cut", [one for one in found if one.problem]),
        ("CMYK", [one for one in found if one.mode in ("CMYK", "YCCK")]),
        ("turned by EXIF", [one for one in found if one.orientation != 1]),
        ("more than 8 bits", [one for one in found if one.mode.startswith(("I", "F"))]),
        ("of the content of another file", _repeats(found)),
    ]
    total = sum(one.size for one in found)
    print(f"{len(found)} images, {total / 1e6:.1f} MB, {len(several)} different contents")
    for name, members in groups:
        if members:
            print(f"{len(members)} {name}:")
        for one in members[:5]:
            print(f"  {one.path}{': ' * bool(one.problem)}{one.problem}")
        if len(members) > 5:
            print("  ...")
    sides = np.array([min(one.width, one.height) for one in found if one.width])
    print("shorter sides:")
    edges = [0, *_SIDES, 1 << 40]
    counts = np.histogram(sides, edges)[0].tolist()
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        if count:
            name = f"{low} to {high - 1}" if high < 1 << 40 else f"{low} and more"
            print(f"  {name:14} {count:8} {'#' * round(40 * count / max(counts))}")


def _repeats(found: list[Found]) -> list[Found]:
    """Files whose content an earlier one has."""
    seen: set[str] = set()
    repeats = []
    for one in found:
        if one.digest in seen:
            repeats.append(one)
        seen.add(one.digest)
    return [one for one in repeats if one.digest]


def _write_table(place: Path, root: Path, found: list[Found]) -> None:
    with place.open("w", newline="", encoding="utf-8", errors="surrogateescape") as stream:
        writer = csv.writer(stream)
        writer.writerow(Found._fields)
        writer.writerows((os.path.join(root, one.path), *one[1:]) for one in found)
    print(f"written: {place}")


def _write_list(place: Path, root: Path, found: list[Found]) -> None:
    bad = {one.path for one in _repeats(found)} | {one.path for one in found if one.problem}
    good = [one.path for one in found if one.path not in bad and "\n" not in one.path]
    folders = sorted({path.partition(os.sep)[0] for path in good if os.sep in path})
    labels = {folder: number for number, folder in enumerate(folders)}
    with place.open("w", encoding="utf-8", errors="surrogateescape") as stream:
        for path in good:
            label = labels.get(path.partition(os.sep)[0], 0)
            stream.write(f"{os.path.abspath(root / path)} {label}\n")
    print(f"written: {place}, {len(good)} images, {len(folders) or 1} labels")
