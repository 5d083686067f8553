"""Sphinx's settings for the site."""

project = "gradiva"
author = "the authors of gradiva"
project_copyright = author
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "gradiva"
html_copy_source = False
html_show_sourcelink = False
python_maximum_signature_line_length = 90
highlight_language = "text"
smartquotes = False  # values of arguments are in quotes
exclude_patterns: list[str] = []
