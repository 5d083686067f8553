"""The user's Python code in a graph: external sources, functions as operators."""
