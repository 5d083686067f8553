"""Video files: their index, their frames one by one, and pixels of these."""
