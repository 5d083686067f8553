"""Receipts: what a batch was made from, as 32 bytes and as a line of JSON."""
