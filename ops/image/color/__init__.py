"""Values of pixels: brightness, color, histograms, Bayer sensors, normalization."""
