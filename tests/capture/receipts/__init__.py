"""Tests of `capture/receipts`."""
