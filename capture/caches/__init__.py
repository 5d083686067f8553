"""Caches in running graphs: where results are kept, what of them is read, and what is computed."""
