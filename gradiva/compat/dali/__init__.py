"""What exists only because DALI's scripts import it; `compat/old_paths.py` has their paths."""
