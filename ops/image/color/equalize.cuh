// `equalize`, third: each value through the table of its plane.
struct Sample { i64 source, target, volume, frame, channels, plane; };

KERNEL(equalize)(
    const u8* source, u8* target, const u8* tables, const Sample* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Sample sample = samples[block.sample];
    const u32 volume = u32(sample.volume), first = u32(block.first);
    const u32 channels = u32(sample.channels), frame = u32(sample.frame);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 k = first + threadIdx.x; k < end; k += THREADS) {
        const i64 plane = sample.plane + i64(k / frame) * channels + k % channels;
        target[sample.target + k] = tables[plane * 256 + source[sample.source + k]];
    }
}
