"""A JupyterLab on this machine and a browser that looks at it, for tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["ROOT", "Lab", "Notebook", "lab", "notebook_file"]

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
)
_SECONDS = 300
_SETTINGS = {
    # All cells are in the page, also those out of sight.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


def notebook_file(path: Path, cells: list[str]) -> Path:
    """Write code cells as a notebook."""
    made: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "source": source,
            "metadata": {"tags": ["raises-exception"]},  # the cells after an error run too
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(cells)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(whole))
    return path


class Notebook:
    """A notebook in JupyterLab, as its user sees it."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def run_all(self) -> None:
        """Run > Run All Cells, and wait until every code cell has run."""
        self.page.locator(".jp-NotebookPanel .jp-CodeCell .cm-content").first.click()
        self.page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click()
        self.page.locator(".lm-Menu-item[data-command='runmenu:run-all']").click()
        self.page.wait_for_function(
            """() => {
                const prompts = [...document.querySelectorAll(
                    '.jp-NotebookPanel .jp-CodeCell .jp-InputPrompt')];
                return prompts.length > 0 && prompts.every(
                    prompt => /^\\[\\d+\\]:$/.test(prompt.textContent.trim()));
            }""",
            timeout=_SECONDS * 1000,
        )
        self.page.wait_for_timeout(500)  # pictures are decoded

    def count(self) -> int:
        """How many code cells there are."""
        return int(self.page.locator(".jp-NotebookPanel .jp-CodeCell").count())

    def cell(self, number: int) -> Any:
        """The code cell `number`, from 0."""
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(number)

    def output(self, number: int) -> Any:
        """What stands below the code cell `number`."""
        return self.cell(number).locator(".jp-Cell-outputArea")

    def text(self, number: int) -> str:
        """The text of that output."""
        return str(self.output(number).inner_text())

    def sizes(self, number: int, what: str = "img") -> list[tuple[int, int]]:
        """Width and height on the page of each picture in that output."""
        boxes = [found.bounding_box() for found in self.output(number).locator(what).all()]
        return [(round(box["width"]), round(box["height"])) for box in boxes]

    def type_below(self, text: str) -> None:
        """A new cell at the end, with the cursor behind `text`."""
        last = self.page.locator(".jp-NotebookPanel .jp-CodeCell").last
        last.locator(".cm-content").click()
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("b")
        self.page.keyboard.press("Enter")
        self.page.keyboard.type(text)

    def screenshot(self, name: str) -> None:
        """A picture of the window, in the folder $GRADIVA_SCREENSHOTS, if that is set."""
        folder = os.environ.get("GRADIVA_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))

    def screenshot_at(self, number: int, name: str) -> None:
        """The window with the output `number` in sight."""
        self.output(number).evaluate("area => area.scrollIntoView({block: 'end'})")
        self.page.wait_for_timeout(200)
        self.screenshot(name)


class Lab:
    """A server in a folder, and a browser."""

    def __init__(self, folder: Path, url: str, token: str, browser: Any) -> None:
        self.folder = folder
        self._url = url
        self._token = token
        self._browser = browser

    @contextmanager
    def open(self, name: str, width: int = 1400, height: int = 1000) -> Iterator[Notebook]:
        """The notebook `name` of the folder, with a kernel that is ready."""
        page = self._browser.new_page(viewport={"width": width, "height": height})
        try:
            page.set_default_timeout(60_000)
            page.goto(f"{self._url}lab/tree/{name}?token={self._token}&reset")
            page.locator(".jp-NotebookPanel .jp-CodeCell").first.wait_for()
            page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
            yield Notebook(page)
        finally:
            page.close()


@contextmanager
def lab(folder: Path, theme: str = "Light") -> Iterator[Lab]:
    """JupyterLab on localhost with its root in `folder`, and a browser without a window."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    own = folder / ".own"
    _settings(own / "settings", theme)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
    }
    token = "for-this-test-only"
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        "--port=0",
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={token}",
    ]
    with ExitStack() as stack:
        log = stack.enter_context((own / "log").open("w"))
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        stack.callback(_stop, server)
        url = _address(own / "runtime", server, own / "log")
        driver = stack.enter_context(playwright.sync_playwright())
        browser = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=_QUIET)
        stack.callback(browser.close)
        yield Lab(folder, url, token, browser)


def _settings(folder: Path, theme: str) -> None:
    chosen = {**_SETTINGS, "apputils-extension/themes": {"theme": f"JupyterLab {theme}"}}
    for name, values in chosen.items():
        path = folder / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))


def _address(runtime: Path, server: subprocess.Popen[bytes], log: Path) -> str:
    """Where the server listens, once it does."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and server.poll() is None:
        for path in runtime.glob("jpserver-*.json"):
            try:
                return str(json.loads(path.read_text())["url"])
            except (ValueError, KeyError):
                pass  # half written
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End the server, which ends its kernels."""
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
