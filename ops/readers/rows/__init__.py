"""Files with rows and columns: Parquet, HDF5, npz, JSON lines, CSV. A row is a sample."""
