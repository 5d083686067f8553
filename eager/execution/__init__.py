"""Running one call: types, shapes, buffers, kernel, errors."""
