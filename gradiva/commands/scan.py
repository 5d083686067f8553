"""`gradiva scan`: what is wrong with the images in a folder."""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gradiva.eager.runtime.worker_pool import default_pool
from gradiva.eager.support.errors import GradivaError, OperatorValueError, wrong_value
from gradiva.eager.support.local_files import write_whole
from gradiva.eager.values.batch import batch
from gradiva.ops.decoders.formats.probe import probe
from gradiva.ops.decoders.image.image import image as decode
from gradiva.ops.decoders.image_info import ImageInfo
from gradiva.ops.decoders.jpeg.segments import ends_well
from gradiva.ops.readers.core.left_out import left_out
from gradiva.ops.readers.core.progress import counted

__all__ = ["add_arguments", "run"]

SUFFIXES = (
    *(".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff"),
    *(".pnm", ".ppm", ".pgm", ".pbm", ".jp2", ".webp"),
)
_MODES: Final = {
    "gray": "L",
    "gray+alpha": "LA",
    "palette": "P",
    "rgb": "RGB",
    "ycbcr": "RGB",
    "rgb+alpha": "RGBA",
    "cmyk": "CMYK",
    "cmyk inverted": "CMYK",
    "ycck": "CMYK",
}
"""Pillow's names of the colors that a header tells."""
_BATCH = 64
_SIDES = (64, 128, 256, 512, 1024, 2048)


class ScannedFile(NamedTuple):
    """What was found out about a file. mode: of Pillow, without the number of bits; bits: of a
    sample; problem: "" for none."""

    path: str
    size: int
    width: int = 0
    height: int = 0
    mode: str = ""
    bits: int = 0
    orientation: int = 1
    digest: str = ""
    problem: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `gradiva scan`."""
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
    every = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    paths = [path for path in every if os.path.splitext(path)[1].lower() in SUFFIXES]
    if not paths:
        raise wrong_value("folder", "a folder with images", str(root), operator="scan")
    found: list[ScannedFile] = []
    pool = default_pool()
    for first in counted(range(0, len(paths), _BATCH), "scan"):
        part = paths[first : first + _BATCH]
        made: list[ScannedFile | None] = [None] * len(part)

        def look(
            begin: int, end: int, part: list[str] = part, made: list[ScannedFile | None] = made
        ) -> None:
            for number in range(begin, end):
                made[number] = look_at(root, part[number])

        pool.run(look, [(number, number + 1) for number in range(len(part))])
        seen = [one for one in made if one is not None]
        found += decoded(root, seen) if options.decode else seen
    report(found, *left_out(every))
    for place, write in ((options.table, _write_table), (options.list, _write_list)):
        if place:
            try:
                write(place, root, found)
            except (OSError, ValueError) as error:
                raise OperatorValueError(f"{place} cannot be written: {error}") from error
    return int(any(one.problem for one in found))


def decoded(root: Path, found: list[ScannedFile]) -> list[ScannedFile]:
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


def look_at(root: Path, path: str) -> ScannedFile:
    """One file."""
    try:
        data = (root / path).read_bytes()
    except OSError as error:
        return ScannedFile(path, 0, problem=f"cannot be read: {error.strerror}")
    digest = blake2b(data, digest_size=16).hexdigest()
    try:
        info = probe(np.frombuffer(data, np.uint8))
    except ValueError as error:
        return ScannedFile(path, len(data), digest=digest, problem=f"damaged: {error}")
    problem = "ends early" if _ends_early(data, info) else ""
    mode = _MODES.get(info.color, f"{info.channels} channels")
    facts = info.width, info.height, mode, info.bits, info.orientation, digest
    return ScannedFile(path, len(data), *facts, problem)


def _ends_early(data: bytes, info: ImageInfo) -> bool:
    """Whether a JPEG or PNG file lacks its end. Phones put videos behind it, and others text."""
    if info.format == "jpeg":
        return not ends_well(memoryview(data))
    if info.format != "png":
        return False
    place = 8
    while data[place + 4 : place + 8] != b"IEND":
        if place >= len(data):
            return True
        place += 12 + int.from_bytes(data[place : place + 4], "big")
    return False


def report(found: list[ScannedFile], others: int, endings: str) -> None:
    """Print what there is. others: files that the reader leaves out, by their endings."""
    several = Counter(one.digest for one in found if one.digest)
    groups: list[tuple[str, list[ScannedFile]]] = [
        ("damaged or cut", [one for one in found if one.problem]),
        ("CMYK", [one for one in found if one.mode in ("CMYK", "YCCK")]),
        ("turned by EXIF", [one for one in found if one.orientation != 1]),
        ("more than 8 bits", [one for one in found if one.bits > 8]),
        ("of the content of another file", _repeats(found)),
    ]
    total = sum(one.size for one in found)
    print(f"{len(found)} images, {total / 1e6:.1f} MB, {len(several)} different contents")
    if others:
        print(f"{others} files that readers.file leaves out ({endings}): see `file_filters`")
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


def _repeats(found: list[ScannedFile]) -> list[ScannedFile]:
    """Files whose content an earlier one has."""
    seen: set[str] = set()
    repeats = []
    for one in found:
        if one.digest in seen:
            repeats.append(one)
        seen.add(one.digest)
    return [one for one in repeats if one.digest]


def _write_table(place: str, root: Path, found: list[ScannedFile]) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(ScannedFile._fields)
    writer.writerows((os.path.join(root, one.path), *one[1:]) for one in found)
    write_whole(place, stream.getvalue().encode("utf-8", "surrogateescape"))
    print(f"written: {place}")


def _write_list(place: str, root: Path, found: list[ScannedFile]) -> None:
    bad = {one.path for one in _repeats(found)} | {one.path for one in found if one.problem}
    good = [one.path for one in found if one.path not in bad and "\n" not in one.path]
    folders = sorted({path.partition(os.sep)[0] for path in good if os.sep in path})
    labels = {folder: number for number, folder in enumerate(folders)}
    text = "".join(
        f"{os.path.abspath(root / path)} {labels.get(path.partition(os.sep)[0], 0)}\n"
        for path in good
    )
    write_whole(place, text.encode("utf-8", "surrogateescape"))
    print(f"written: {place}, {len(good)} images, {len(folders) or 1} labels")
