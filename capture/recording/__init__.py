"""Recording calls: symbols, nodes that they become, `if` and `and` on symbols."""
