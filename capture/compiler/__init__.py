"""From a graph to one that runs faster: passes, one a file, and their list."""
