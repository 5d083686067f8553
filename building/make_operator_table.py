"""Write the table of operators in docs/operators.md: `python -m building.make_operator_table`.

A field has the operators that the files of some folders declare; a few names that no declaration
has stand here. `test_public_names` checks that the table is up to date.
"""

from __future__ import annotations

from pathlib import Path

from building.make_names import declared

PAGE = Path(__file__).parents[1] / "docs" / "operators.md"
HEAD = "| field | operators |\n|---|---|\n"
FIELDS: dict[str, tuple[tuple[str, ...], str]] = {
    "data": (
        (
            *(
                "readers",
                "readers.fits",
                "readers.coco",
                "readers.lmdb",
                "readers.rows",
                "readers.webdataset",
            ),
            *("io", "python_function"),
        ),
        "`readers.tfrecord`, `readers.table`, `readers.mix`, `external_source`, `numba_function`, "
        "`types.Constant`; as objects `ExternalSource`, `readers.File`, `readers.TFRecord` and "
        "so on",
    ),
    "decoding": (
        ("decoders", "decoders.audio", "decoders.image"),
        "`peek_audio`; `imread`; JPEG, PNG, BMP, TIFF, PNM, WebP, JPEG 2000, GIF, AVIF; WAV, and "
        "through soundfile FLAC, Ogg, AIFF, MP3",
    ),
    "crops and sizes": (("image.resize", "image.crop", "image.masking", "image.paste"), ""),
    "warps": (("image.warp", "transforms"), ""),
    "color and intensity": (("image.color", "image.normalize", "image.debayer"), ""),
    "filters and noise": (("image.filter", "noise", "image.jpeg"), ""),
    "audio": (("audio",), ""),
    "video": (("video", "readers.video", "external_source"), ""),
    "arrays": (
        ("arrays", "arrays.fill", "arrays.shape", "indexing", "reductions"),
        "`pad_channels`; `+ - * / // % ** & \\| ^ << >>`, comparisons, `math.*`, subscripts "
        "(`tensor[...]`, `batch.slice[...]`)",
    ),
    "random values": (("random",), ""),
    "boxes and masks": (("boxes", "segmentation"), ""),
    "automatic augmentation": (
        (),
        "`auto_aug.auto_augment`, `auto_aug.rand_augment`, `auto_aug.trivial_augment`, and your "
        "own with `auto_aug.core`",
    ),
    "your own operators": (
        (),
        "`gradiva.extension`: declared as gradiva's own are, and checked by the same tests",
    ),
}
"""By title: folders of `ops`, and what else belongs there."""


def by_folder() -> dict[str, list[str]]:
    """The names of public operators, by the folder of `ops` that declares them."""
    found: dict[str, list[str]] = {}
    for package, operators in declared().items():
        for name, module in operators.items():
            folder = module.removeprefix("gradiva.ops.").rpartition(".")[0]
            found.setdefault(folder, []).append(f"{package}.{name}" if package else name)
    return found


def table() -> str:
    """The table, in Markdown."""
    folders = by_folder()
    lines = []
    for title, (names, more) in FIELDS.items():
        operators = sorted(one for name in names for one in folders.get(name, ()))
        listed = ", ".join(f"`{name}`" for name in operators)
        lines.append(f"| {title} | {'; '.join(filter(None, (listed, more)))} |\n")
    return HEAD + "".join(lines)


def written(text: str) -> str:
    """The page with the table in place of the one that is there."""
    before, _, rest = text.partition(HEAD)
    return before + table() + "\n" + rest.partition("\n\n")[2]


def main() -> None:
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
