"""Random values as a function of the seed, the number of the call and the position of the
sample."""
