"""What is on trial for torch: `proxy`."""
