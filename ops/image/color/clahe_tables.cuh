// `clahe`, first: the table of a tile, from its histogram. A tile that reaches beyond its image goes
// on there as in a mirror that shows the last pixel once.
struct Plane {
    i64 source, height, width, step;  // of the image: first value, extents, values per pixel
    i64 luma;                         // whether the lightness of colors is meant
    i64 height_of_tile, width_of_tile;
    i64 limit;                        // of the counts; 0: none
};

DEVICE u32 mirrored(u32 at, u32 extent) {
    if (at < extent) return at;
    const u32 period = extent > 1 ? 2 * extent - 2 : 1;
    at %= period;
    return at < extent ? at : period - at;
}

KERNEL(clahe_tables)(
    const u8* source, u8* tables, const Plane* planes, const u16* colors, i64 rows, i64 columns
) {
    __shared__ Histogram histogram;
    __shared__ u32 sums[256];
    __shared__ u32 excess;
    const u32 tile = blockIdx.x % u32(rows * columns), value = threadIdx.x;
    const Plane plane = planes[blockIdx.x / u32(rows * columns)];
    const u32 height = u32(plane.height_of_tile), width = u32(plane.width_of_tile);
    const u32 top = tile / u32(columns) * height, left = tile % u32(columns) * width;
    if (value == 0) excess = 0;
    clear(histogram);
    for (u32 k = value; k < height * width; k += THREADS) {
        const u32 row = k / width;
        const u32 y = mirrored(top + row, u32(plane.height));
        const u32 x = mirrored(left + k - row * width, u32(plane.width));
        const u8* from = source + plane.source + (i64(y) * plane.width + x) * plane.step;
        count(histogram, plane.luma ? lightness_of(roots_of(colors, from)) : *from);
    }
    u32 own = counted(histogram);
    if (plane.limit) {
        // What is above the limit goes to all values, and the rest of that to some of them.
        const u32 limit = u32(plane.limit);
        if (own > limit) {
            atomicAdd(&excess, own - limit);
            own = limit;
        }
        __syncthreads();
        const u32 rest = excess % 256, step = rest ? 256 / rest : 1;
        own += excess / 256 + u32(value % step == 0 && value / step < rest);
    }
    const f32 scale = 255.0f / f32(height * width);
    const f32 made = rintf(f32(running_sum(sums, own)) * scale);
    tables[i64(blockIdx.x) * 256 + value] = u8(made < 255.0f ? made : 255.0f);
}
