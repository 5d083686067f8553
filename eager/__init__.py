"""Values, and running one operator now. Imports nothing else of the project."""

if __name__ != "gradiva.eager":
    raise ImportError(
        "this folder is part of gradiva: import gradiva.eager (or gradiva), not eager"
    )
