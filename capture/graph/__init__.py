"""The graph: nodes, their types, where samples live, what a graph is as plain data."""
