"""Several readers as one: `readers.mix`."""
