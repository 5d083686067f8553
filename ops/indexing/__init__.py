"""Parts of samples, other orders of axes, look-ups, and what is known of samples as data."""
