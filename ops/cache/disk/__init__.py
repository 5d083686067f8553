"""The store in a folder: the files of shards, what is written to them and read from them."""
