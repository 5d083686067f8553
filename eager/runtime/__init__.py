"""Host memory and worker threads."""
