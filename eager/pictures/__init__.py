"""Pictures of samples: thumbnails in notebooks, and `show`."""
