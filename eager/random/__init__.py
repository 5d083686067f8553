"""Randomness as a function of seed, number of the call and position of the sample."""
