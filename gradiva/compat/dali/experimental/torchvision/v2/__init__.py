"""The second generation of the transforms, and their functions."""
