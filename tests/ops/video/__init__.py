"""Tests of videos, and the videos that they are about."""
