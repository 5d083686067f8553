"""Color images from the values of a Bayer sensor."""
