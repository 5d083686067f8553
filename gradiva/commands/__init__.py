"""The commands of `gradiva`."""
