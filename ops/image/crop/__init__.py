"""Windows of samples, and mirrored samples."""
