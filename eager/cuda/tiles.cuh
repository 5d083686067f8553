// Transposition by tiles: the elements of a tile lie side by side along one axis of the source and
// along another one of the result. They go through shared memory, so that both are read and written
// side by side. Other axes, AXES of them, are looped over.
struct Tiles {
    i64 source, target;            // first elements
    i64 source_wide, target_high;  // elements from one coordinate to the next, across the tile
    u32 high, wide;                // extents: of the source's last axis, of the result's last axis
    u32 tile_high, tile_wide;
    u32 down, across;  // tiles
    i64 source_steps[AXES], target_steps[AXES];
    i64 extents[AXES];
};

KERNEL(tiles)(const Source* source, Target* target, const Tiles* samples, const i64* blocks) {
    // An odd pitch: neighbors of one column lie in different banks.
    __shared__ Source tile[MOST];
    const Block block = block_at(blocks);
    const Tiles& sample = samples[block.sample];
    u32 number = u32(block.first);
    const u32 left = number % sample.across * sample.tile_wide;
    number /= sample.across;
    const u32 top = number % sample.down * sample.tile_high;
    number /= sample.down;
    const Source* from = source + sample.source + top + left * sample.source_wide;
    Target* to = target + sample.target + top * sample.target_high + left;
    for (int axis = AXES - 1; axis >= 0; axis--) {
        const u32 extent = u32(sample.extents[axis]), at = number % extent;
        from += at * sample.source_steps[axis];
        to += at * sample.target_steps[axis];
        number /= extent;
    }
    const u32 pitch = sample.tile_wide | 1;
    const u32 high = sample.high - top < sample.tile_high ? sample.high - top : sample.tile_high;
    const u32 wide = sample.wide - left < sample.tile_wide ? sample.wide - left : sample.tile_wide;
    const u32 volume = high * wide;
    const i64 source_wide = sample.source_wide, target_high = sample.target_high;
    for (u32 k = threadIdx.x; k < volume; k += THREADS) {
        const u32 column = k / high, row = k - column * high;
        tile[row * pitch + column] = from[column * source_wide + row];
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < volume; k += THREADS) {
        const u32 row = k / wide, column = k - row * wide;
        to[row * target_high + column] = tile[row * pitch + column];
    }
}
