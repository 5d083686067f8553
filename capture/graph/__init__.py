"""The graph: nodes, types, what a graph is as plain data; pictures of it, tables."""
