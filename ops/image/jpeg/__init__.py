"""What JPEG compression leaves of an image."""
