"""Functions of the user's as operators, in Python and compiled by Numba."""
