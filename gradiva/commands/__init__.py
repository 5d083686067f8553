"""The commands of `python -m gradiva`."""
