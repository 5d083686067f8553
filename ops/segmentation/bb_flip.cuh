// `bb_flip`: boxes of four numbers, mirrored in the unit square; a thread makes one number.
struct Boxes {
    i64 source, target;  // first elements
    u32 volume;
    u32 flips[2];  // along x, along y
    u32 corners;   // whether the last two numbers are a corner, not the extents
};

KERNEL(bb_flip)(const f32* source, f32* target, const Boxes* samples, const i64* blocks) {
    const Block block = block_at(blocks);
    const Boxes sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 place = element & 3;
        const f32* own = source + sample.source + element;
        f32 value = own[0];
        if (place & 1 ? sample.flips[1] : sample.flips[0]) {
            if (sample.corners) value = 1.0f - (place < 2 ? own[2] : own[-2]);
            else if (place < 2) value = 1.0f - (value + own[2]);
        }
        target[sample.target + element] = value;
    }
}
