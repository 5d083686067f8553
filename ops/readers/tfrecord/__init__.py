"""TFRecord files: records, the features in them, the reader."""
