"""Errors, settings from the environment, lazy imports: what every other package uses."""
