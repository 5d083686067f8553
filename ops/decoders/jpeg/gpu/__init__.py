"""JPEG on a GPU: which path a file takes, and the calls of nvJPEG along it. See
docs/gpu-decoding.md."""
