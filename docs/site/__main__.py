"""`python -m docs.site`: write the pages of the site, and have Sphinx build it.

Without errors and without warnings, in `build/site/html`. Needs `pip install -e ".[docs]"`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gradiva.eager.support.errors import GradivaError

from . import guides, notebooks, operator_pages, reference
from .picture import PICTURE
from .registry import ROOT, known


def write_sources(target: Path, said: Callable[[str], None]) -> int:
    """Write all pages as Markdown below `target`, which is emptied first. Returns their number."""
    if target.exists():
        shutil.rmtree(target)
    pages = {
        "index": guides.home_page(),
        "operators/index": operator_pages.index_page(),
        "operators/support": operator_pages.support_page(),
        "reference/index": reference.reference_index(),
        "guides/index": guides.guides_index(),
        "tutorials/index": guides.tutorials_index(),
    }
    pages |= {f"guides/{path.stem.lower()}": guides.guide_page(path) for path in guides.GUIDES}
    pages |= {f"reference/{name}": reference.module_page(name) for name in reference.MODULES}
    pictures = target / "pictures"
    pictures.mkdir(parents=True)
    shutil.copy(PICTURE, pictures)
    operators = known()
    for number, (name, operator) in enumerate(operators.items(), 1):
        if number % 20 == 0:
            said(f"operator {number} of {len(operators)}")
        try:
            page = operator_pages.operator_page(operator, pictures)
        except GradivaError as error:
            raise SystemExit(f"the page of {name}: {error}") from error
        pages[f"operators/{operator_pages.page_name(operator)}"] = page
    for path in guides.TUTORIALS:
        said(f"tutorial {path.stem}")
        pages[f"tutorials/{path.stem}"] = guides.tutorial_page(path)
    for name, text in pages.items():
        path = target / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return len(pages)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Build the site. Returns the exit status of Sphinx."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "site", help="the folder")
    parser.add_argument("--sources-only", action="store_true", help="write Markdown, run no Sphinx")
    parser.add_argument(
        "--no-outputs", action="store_true", help="do not run the tutorials; show earlier outputs"
    )
    parser.add_argument("--theme", default="furo", help="furo's pages take most of the time")
    given = parser.parse_args(arguments)
    source = given.to / "source"
    if not (given.sources_only or given.no_outputs):
        notebooks.main([])
    count = write_sources(source, _progress)
    _progress(f"{count} pages")
    if given.sources_only:
        return 0
    return run_sphinx(source, given.to, given.theme)


def run_sphinx(source: Path, target: Path, theme: str) -> int:
    """Make HTML of the pages, in `target`/html. Returns the exit status: a warning is an error."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-j", "2", "-b", "html"]
    command += ["-c", str(Path(__file__).parent), "-d", str(target / "doctrees")]
    command += ["-D", f"html_theme={theme}"]
    return subprocess.call([*command, str(source), str(target / "html")])


if __name__ == "__main__":
    raise SystemExit(main())
