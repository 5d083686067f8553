"""Parts of an epoch for processes that share it, step by step."""
