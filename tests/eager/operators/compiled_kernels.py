"""Where kernels cannot be interpreted: they call machine code by its address, or make millions of
values of a few. Imports nothing, for who must say so before anything else is imported."""

COMPILED = (
    "gradiva.eager.rows.row_chain",
    "gradiva.eager.rows.row_kernel",
    "gradiva.ops.readers.core.files",
    "gradiva.ops.readers.core.record_reads",
    "gradiva.ops.audio.resampling",
    "gradiva.ops.audio.audio_types",
)
