"""The command line: `python -m gradiva demo | run | check | graph | ops | info | warmup | rec2idx |
scan | tfrecord2idx | verify | wds2idx`."""

from __future__ import annotations

import argparse
import io
import os
import platform
import sys
from collections.abc import Sequence

import gradiva
from gradiva.commands import demo, graph, index_files, listing, scan, verify, warmup
from gradiva.compat import check_scripts, run_script
from gradiva.eager.cuda.cupy_runtime import count_gpus
from gradiva.eager.cuda.requirements import missing
from gradiva.eager.jit.kernel_cache import cache_folder, why_no_cache_folder
from gradiva.eager.runtime.worker_pool import default_num_threads
from gradiva.eager.support.errors import GradivaError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m gradiva",
        description=gradiva.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"gradiva {gradiva.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo.add_arguments(commands.add_parser("demo", help="the whole story on real photographs"))
    commands.add_parser("run", help="run a script that imports nvidia.dali, unchanged")
    check_scripts.add_arguments(
        commands.add_parser("check", help="what of a script for nvidia.dali is here")
    )
    graph.add_arguments(commands.add_parser("graph", help="show the graph of a pipeline in a file"))
    listing.add_arguments(commands.add_parser("ops", help="list the operators, or show one"))
    commands.add_parser("info", help="versions, threads and folders")
    warmup.add_arguments(commands.add_parser("warmup", help="compile the kernels ahead of time"))
    scan.add_arguments(
        commands.add_parser("scan", help="what is wrong with the images in a folder")
    )
    verify.add_arguments(
        commands.add_parser("verify", help="whether readers deliver each sample once")
    )
    for name, (help_text, _) in index_files.COMMANDS.items():
        index_files.add_arguments(commands.add_parser(name, help=help_text))
    whole = list(sys.argv[1:] if arguments is None else arguments)
    if whole[:1] == ["run"]:  # what follows the script belongs to the script
        return run_script.main(whole[1:])
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        # Names of files may be any bytes; a report does not end at one that no text is.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = parser.parse_args(whole)
    try:
        if given.command == "demo":
            return demo.run(given)
        if given.command == "check":
            return check_scripts.run(given)
        if given.command == "graph":
            return graph.run(given)
        if given.command == "ops":
            return listing.run(given)
        if given.command in index_files.COMMANDS:
            return index_files.run(given)
        if given.command == "scan":
            return scan.run(given)
        if given.command == "verify":
            return verify.run(given)
        if given.command == "warmup":
            return warmup.run(given)
        return show_info()
    except GradivaError as error:
        print(f"gradiva: {error}", file=sys.stderr)
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
