// `grid_mask`: zero for pixels in the squares of a grid. `row_image_grid_mask__in_square` is
// translated from grid_mask.py.
struct Masked {
    i64 source, target;  // first elements
    u32 height, width, channels;
    u32 volume;
    f32 cosine, sine, shift_x, shift_y, ratio;  // all over the tile but the last
};

KERNEL(grid_mask)(
    const Target* source, Target* target, const Masked* samples, const i64* blocks
) {
    const Block block = block_at(blocks);
    const Masked sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 pixel = element / sample.channels, row = pixel / sample.width;
        const f32 x = f32(pixel - row * sample.width), y = f32(row % sample.height);
        const bool masked = row_image_grid_mask__in_square(
            x, y, sample.cosine, sample.sine, sample.shift_x, sample.shift_y, sample.ratio
        );
        target[sample.target + element] = masked ? Target(0) : source[sample.source + element];
    }
}
