// `coord_flip`: 2 * center - c for the coordinates that are mirrored.
struct Points {
    i64 source, target;  // first elements
    u32 size;            // coordinates of a point
    u32 volume;
    u32 flips[3];
    f32 twice[3];  // 2 * center
};

KERNEL(coord_flip)(
    const f32* source, f32* target, const Points* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Points& sample = samples[block.sample];
    const u32 volume = sample.volume, size = sample.size, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 axis = element % size;
        const f32 value = source[sample.source + element];
        const f32 made = sample.flips[axis] ? sample.twice[axis] - value : value;
        target[sample.target + element] = made;
    }
}
