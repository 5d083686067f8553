"""`python benchmarks/speed_table.py`: write README's table of speed from `benchmarks/results`.

It measures nothing: each row names the program that did. `tests/project/test_speed_table.py` checks
that the table is up to date.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
HEAD = "| what | against DALI on the same cores | measured by |\n|---|---|---|\n"
ROWS = (
    ("decode JPEGs", "recipes", "decode"),
    (
        "decode, resize to 256, crop 224, normalize",
        "recipes",
        "val: resize 256, crop 224, normalize",
    ),
    (
        "decode a random window, resize to 224, mirror, normalize",
        "recipes",
        "train: random crop to 224, mirror, normalize",
    ),
    ("the same with four color changes and a blur", "recipes", "train with color and blur"),
    (
        "the second row in later epochs, with a cache on disk",
        "cache",
        "second epoch, on disk: val: resize 256, crop 224, normalize",
    ),
    (
        "the third row in later epochs, with a cache on disk",
        "cache",
        "second epoch, on disk: train: random crop to 224, mirror, normalize",
    ),
    ("the second row in dynamic mode, call by call", "recipes", "val, step by step"),
    ("the second row as a captured loop", "recipes", "val, captured loop"),
    ("the second row from WebDataset archives", "readers", "val from WebDataset"),
    ("COCO: crop with boxes, resize to 300, color", "readers", "COCO: box crop, resize 300, color"),
    (
        "12-megapixel photographs, with `min_size=256`",
        "large_photographs",
        "fine: min_size=256, against the reference",
    ),
    ("log-mel features of audio files", "audio", "features, pipeline"),
    ("clips of VP9 video, resized to 224, normalized", "video", "VP9, resize 224, normalize"),
    ("one operator on 64 images, geometric mean", "operators", ""),
    ("one flip of four images of 8x8 pixels", "small_calls", "flip, four 8x8x3 images"),
    ("24x24 JPEGs: decode, resize, crop, normalize", "scaling", "val, 24x24, 2 threads"),
    (
        "first batch of a new process, import included",
        "cold_start",
        "first batch of val, kernels on disk",
    ),
)
"""What a row says, the results that it is from, and the row there; "" for all of them."""


def times_as_fast(row: dict[str, Any]) -> float:
    """A ratio above 1 where gradiva is faster, for rates and for times."""
    ours, theirs = row["ours"], row["theirs"]
    return float(ours / theirs if row["unit"].endswith("/s") else theirs / ours)


def table() -> str:
    """The table, in Markdown."""
    lines = []
    for text, file, name in ROWS:
        results = json.loads((ROOT / "benchmarks" / "results" / f"{file}.json").read_text("utf-8"))
        rows = [row for row in results["rows"] if "theirs" in row and name in ("", row["name"])]
        ratio = statistics.geometric_mean([times_as_fast(row) for row in rows])
        lines.append(f"| {text} | {ratio:.2f} x | `benchmarks/{file}.py` |\n")
    return HEAD + "".join(lines)


def written(text: str) -> str:
    """The README with the table in place of the one that is there."""
    before, _, rest = text.partition(HEAD)
    return before + table() + "\n" + rest.partition("\n\n")[2]


def main() -> None:
    """Write the table into the README."""
    README.write_text(written(README.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
