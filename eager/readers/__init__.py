"""Sources of samples: readers as objects, and loops over them."""
