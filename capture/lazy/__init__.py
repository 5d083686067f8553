"""Deferred mode: pending calls, the programs they become, `trace` and `compile`."""
