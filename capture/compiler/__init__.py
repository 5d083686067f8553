"""From a graph to one that runs faster: the list of passes, and what they share."""
