"""Batches for trainers on other machines: which loader makes which batch, and how trainers request
them."""
