"""Operators on tensors of any meaning."""

from . import arithmetic as arithmetic  # registers Python's operators on values
from . import subscript as subscript  # registers subscripts of values
