"""Image files: their headers, and their pixels by the codec that fits."""
