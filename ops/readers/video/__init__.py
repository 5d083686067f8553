"""Video files as clips: which there are, the table of them, the readers."""
