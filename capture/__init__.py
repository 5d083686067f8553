"""From calls to graphs, and from graphs to running pipelines."""

if __name__ != "gradiva.capture":
    raise ImportError(
        "this folder is part of gradiva: import gradiva.capture (or gradiva), not capture"
    )
