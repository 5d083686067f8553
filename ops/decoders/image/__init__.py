"""Image decoders: whole images, windows, shapes; on the CPU and on a GPU."""
