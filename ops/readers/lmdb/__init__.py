"""LMDB files: their tree, the messages of Caffe and Caffe2 in them, the readers of both."""
