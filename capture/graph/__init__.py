"""The graph: nodes, their types, scopes, and the graph as plain data."""
