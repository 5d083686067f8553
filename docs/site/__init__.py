"""The site: pages made from the registry of operators, the modules, the tutorials and the guides.

`python -m docs.site` builds it. Nothing in here is part of the library.
"""
