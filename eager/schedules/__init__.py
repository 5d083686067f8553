"""Schedules: numbers for arguments that follow the epoch, the step or the sample."""
