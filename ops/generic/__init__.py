"""Operators on tensors of any meaning."""

from gradiva.ops.generic import arithmetic as arithmetic  # registers Python's operators on values
from gradiva.ops.generic import subscript as subscript  # registers subscripts of values
