"""Running one call: types, shapes, buffers, kernel, errors; on a GPU."""
