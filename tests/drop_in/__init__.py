"""Scripts as users write them, run by both libraries: see `test_drop_in.py`."""
