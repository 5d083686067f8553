"""Worker processes for external sources, with the data in shared memory."""
