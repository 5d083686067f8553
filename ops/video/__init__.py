"""Video files: their index, and their frames one by one."""
