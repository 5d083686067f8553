"""Write the table of operators in docs/operators.md: `python -m building.make_operator_table`.

The fields are those of `gradiva ops` (`gradiva/commands/fields.py`); names that no declaration has
stand here. `test_public_names` checks that the table is up to date.
"""

from __future__ import annotations

from pathlib import Path

from building.make_names import declared
from gradiva.commands.fields import FIELDS, field_of

PAGE = Path(__file__).parents[1] / "docs" / "operators.md"
HEAD = "| field | operators |\n|---|---|\n"
MORE = {
    "Readers": "`readers.tfrecord`, `readers.table`, `readers.mix`; as objects `readers.File`, "
    "`readers.TFRecord` and so on",
    "Decoders": "`imread`; JPEG, PNG, BMP, TIFF, PNM, WebP, JPEG 2000, GIF, AVIF",
    "Your own data and functions": "`external_source`, `types.Constant`, "
    "`gradiva.plugin.numba.fn.experimental.numba_function`; as an "
    "object `ExternalSource`",
    "Audio": "`peek_audio`; WAV, and through soundfile FLAC, Ogg, AIFF, MP3",
    "Arrays: shapes, parts and order": "subscripts (`tensor[...]`, `batch.slice[...]`)",
    "Arithmetic and mathematics": "`+ - * / // % ** & \\| ^ << >>`, comparisons, `math.*`",
    "Automatic augmentation": "`auto_aug.auto_augment`, `auto_aug.rand_augment`, "
    "`auto_aug.trivial_augment`, and your own with `auto_aug.core`",
    "Your own operators": "`gradiva.extension`: declared as gradiva's own are, and checked by the "
    "same tests",
}
"""By title of a field: names in it that no declaration has."""


def table() -> str:
    """The table, in Markdown."""
    found: dict[str, list[str]] = {title: [] for title in {**dict.fromkeys(FIELDS), **MORE}}
    for package, operators in declared().items():
        for name, module in operators.items():
            found[field_of(module)].append(f"{package}.{name}" if package else name)
    lines = []
    for title, names in found.items():
        listed = ", ".join(f"`{name}`" for name in sorted(names))
        lines.append(f"| {title} | {'; '.join(filter(None, (listed, MORE.get(title, ''))))} |\n")
    return HEAD + "".join(lines)


def written(text: str) -> str:
    """The page with the table in place of the one that is there."""
    before, _, rest = text.partition(HEAD)
    return before + table() + "\n" + rest.partition("\n\n")[2]


def main() -> None:
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
