"""Row kernels, chains of them, and the conversions between dtypes that they share."""
