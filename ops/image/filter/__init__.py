"""Filters, from the pixels around each pixel; damage by JPEG compression."""
