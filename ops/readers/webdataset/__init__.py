"""WebDataset archives: members, indices, the reader."""
