"""External sources: the user's callables and iterables as the start of a graph."""
