"""Element types, devices, layouts of memory: what is known of values without their data."""
