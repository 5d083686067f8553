// `grid_mask`: zero for pixels in the squares of a grid. The arithmetic is that of grid_mask.py.
struct Masked {
    i64 source, target;  // first elements
    u32 height, width, channels;
    u32 volume;
    f32 cosine, sine, shift_x, shift_y, ratio;  // all over the tile but the last
};

KERNEL(grid_mask)(
    const Target* source, Target* target, const Masked* samples, const Block* blocks
) {
    const Block block = blocks[blockIdx.x];
    const Masked sample = samples[block.sample];
    const u32 volume = sample.volume, first = u32(block.first);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 element = first + threadIdx.x; element < end; element += THREADS) {
        const u32 pixel = element / sample.channels, row = pixel / sample.width;
        const f32 x = f32(pixel - row * sample.width), y = f32(row % sample.height);
        const f32 left = y * sample.sine + sample.shift_x;
        const f32 top = y * sample.cosine - sample.shift_y;
        const f32 u = x * sample.cosine - left, v = x * sample.sine + top;
        const bool masked = u - floorf(u) < sample.ratio && v - floorf(v) < sample.ratio;
        target[sample.target + element] = masked ? Target(0) : source[sample.source + element];
    }
}
