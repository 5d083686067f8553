"""Evaluation modes, contexts and streams, as users set them; checkpoints."""
