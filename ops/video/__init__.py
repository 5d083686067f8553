"""Frames of videos: from the planes of a decoder to pixels."""
