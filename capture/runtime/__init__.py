"""Running a compiled graph: nodes in order, fused groups, streams, memory."""
