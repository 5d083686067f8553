"""Writers of files with rows, for `formats.py`: Parquet and HDF5 where their libraries are."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gradiva
from gradiva import fn

__all__ = ["ROWS", "rows_of"]


def rows_of(size: int) -> list[dict[str, Any]]:
    """A text with line breaks and quotes, a number, a list."""
    return [
        {
            "text": f'sample "{number}",\n' + "ü" * (number % 4),
            "number": number * 3 - 4,
            "box": [number / 4, 1.5, -2.0][: 1 + number % 3],
        }
        for number in range(size)
    ]


def jsonl(folder: Path, size: int) -> dict[str, Any]:
    lines = "".join(json.dumps(row) + "\n" for row in rows_of(size))
    (folder / "data.jsonl").write_text(lines, encoding="utf-8")
    return {"paths": str(folder / "data.jsonl"), "columns": ["text", "number", "box"]}


def csv_file(folder: Path, size: int) -> dict[str, Any]:
    with (folder / "data.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ["text", "number"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows_of(size))
    columns = {"columns": ["number", "text"], "dtypes": ["int32", "uint8"]}
    return {"paths": str(folder / "data.csv"), **columns}


def npz(folder: Path, size: int) -> dict[str, Any]:
    images = np.arange(size * 12, dtype=">u2").reshape(size, 4, 3)
    np.savez(folder / "data.npz", images=images, labels=np.arange(size) * 3 - 4)
    return {"paths": str(folder / "data.npz"), "columns": ["images", "labels"]}


def parquet(folder: Path, size: int) -> dict[str, Any]:
    import pyarrow
    from pyarrow import parquet as arrow_parquet

    rows = [{**row, "image": {"bytes": row["text"].encode(), "path": "x"}} for row in rows_of(size)]
    table = pyarrow.Table.from_pylist(rows)
    arrow_parquet.write_table(table, folder / "data.parquet", row_group_size=4)
    return {
        "paths": str(folder / "data.parquet"),
        "columns": ["image", "number", "box", "image.path"],
    }


def hdf5(folder: Path, size: int) -> dict[str, Any]:
    import h5py

    with h5py.File(folder / "data.h5", "w") as made:
        rows = rows_of(size)
        made["train/images"] = np.arange(size * 6, dtype=np.float32).reshape(size, 2, 3)
        made["numbers"] = [row["number"] for row in rows]
        made["texts"] = [row["text"] for row in rows]
    return {"paths": str(folder / "data.h5"), "columns": ["train/images", "numbers", "texts"]}


ROWS: dict[str, tuple[Callable[[Path, int], dict[str, Any]], Any, Any, str]] = {
    "csv": (csv_file, gradiva.readers.CSV, fn.readers.csv, "*.csv"),
    "jsonl": (jsonl, gradiva.readers.JSONL, fn.readers.jsonl, "*.jsonl"),
    "npz": (npz, gradiva.readers.Npz, fn.readers.npz, "*.npz"),
}
if importlib.util.find_spec("pyarrow") is not None:
    ROWS["parquet"] = (parquet, gradiva.readers.Parquet, fn.readers.parquet, "*.parquet")
if importlib.util.find_spec("h5py") is not None:
    ROWS["hdf5"] = (hdf5, gradiva.readers.HDF5, fn.readers.hdf5, "*.h5")
