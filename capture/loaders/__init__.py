"""Batches for trainers on other machines: which makes which, and how they are asked for."""
