"""Files of many samples: TFRecord, LMDB, WebDataset, RecordIO, FITS."""
