"""The operators behind `if`, `and`, `or` and `not` on values per sample."""
