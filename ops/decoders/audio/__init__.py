"""Audio files: what their headers say, and their samples, at the rate that is asked for."""
