"""Passes: functions Graph -> Graph, one a file."""
