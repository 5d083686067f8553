"""Recording calls: symbols, and the interpreter that adds nodes to a graph."""
