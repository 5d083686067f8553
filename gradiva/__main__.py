"""The command line: `gradiva cache | convert | demo | run | check | graph | ops | info |
warmup | preview | rec2idx | reproduce | scan | tfrecord2idx | verify | wds2idx`."""

from __future__ import annotations

import argparse
import io
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

import gradiva
from gradiva.commands import (
    cache,
    convert,
    demo,
    graph,
    index_files,
    listing,
    preview,
    reproduce,
    scan,
    verify,
    warmup,
)
from gradiva.compat import check_scripts, run_script
from gradiva.eager.cuda.cupy_runtime import count_gpus
from gradiva.eager.cuda.requirements import missing
from gradiva.eager.jit.kernel_cache import cache_folder, why_no_cache_folder
from gradiva.eager.runtime.worker_pool import default_num_threads
from gradiva.eager.support.errors import GradivaError

COMMANDS: dict[str, tuple[Any, str]] = {
    "demo": (demo, "the whole story on real photographs"),
    "check": (check_scripts, "what of a script for nvidia.dali is here"),
    "graph": (graph, "show the graph of a pipeline in a file"),
    "preview": (preview, "a contact sheet of a pipeline or function in a file"),
    "ops": (listing, "list the operators, or show one"),
    "warmup": (warmup, "compile the kernels ahead of time"),
    "scan": (scan, "what is wrong with the images in a folder"),
    "verify": (verify, "whether readers deliver each sample once"),
    "convert": (convert, "preprocessing of other packages as gradiva code, and how both differ"),
    "reproduce": (reproduce, "make a batch again from its receipt, or say which input changed"),
    "cache": (cache, "what a cache on disk holds, whether it is damaged, and removing it"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="gradiva",
        description=gradiva.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gradiva {gradiva.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, text) in COMMANDS.items():
        module.add_arguments(commands.add_parser(name, help=text))
    commands.add_parser("run", help="run a script that imports nvidia.dali, unchanged")
    commands.add_parser("info", help="versions, threads and folders")
    for name, (text, _) in index_files.COMMANDS.items():
        index_files.add_arguments(commands.add_parser(name, help=text))
    whole = list(sys.argv[1:] if arguments is None else arguments)
    if whole[:1] == ["run"]:  # what follows the script belongs to the script
        return run_script.main(whole[1:])
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Names of files may be any bytes; a report does not end at one that no text is.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = parser.parse_args(whole)
    try:
        if given.command in COMMANDS:
            status: int = COMMANDS[given.command][0].run(given)
            return status
        if given.command in index_files.COMMANDS:
            return index_files.run(given)
        return show_info()
    except GradivaError as error:
        print(f"gradiva: {error.complete(operator=given.command)}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of the pipe, such as `head`, has enough. Python would write what is left at
        # exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("gradiva: stopped", file=sys.stderr)
        return 130


def show_info() -> int:
    """Where and with what this gradiva runs."""
    print(f"gradiva      {gradiva.__version__}")
    print(f"python       {platform.python_version()} on {platform.system()} {platform.machine()}")
    print(f"threads      {default_num_threads()}")
    lack = missing()
    print(f"GPUs         {count_gpus() if lack is None else f'none: {lack}'}")
    print(f"kernel cache {cache_folder() or f'off: {why_no_cache_folder()}'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
