// `clahe`, second: each value through the tables of the four tiles around it, weighted.
struct Image {
    i64 source, target, volume, width, channels;
    i64 plane, luma;     // its first plane; whether only the lightness of its colors changes
    i64 height_of_tile, width_of_tile;
};

struct Between { i64 low, high; f32 weight; };

// The two tiles beside a coordinate. inverse: 1 / the tiles' extent.
DEVICE Between between(u32 at, f32 inverse, i64 tiles) {
    const f32 place = f32(at) * inverse - 0.5f, low = floorf(place);
    const i64 tile = i64(low);
    Between found;
    found.low = tile < 0 ? 0 : tile;
    found.high = tile + 1 < tiles ? tile + 1 : tiles - 1;
    found.weight = place - low;
    return found;
}

struct Tiles {
    const u8* tables;
    Between y, x;
    i64 columns;

    DEVICE f32 row(i64 tile, u32 value) const {
        const u8* from = tables + tile * columns * 256 + value;
        return f32(from[x.low * 256]) * (1.0f - x.weight) + f32(from[x.high * 256]) * x.weight;
    }
    DEVICE u8 operator()(u32 value) const {
        const f32 made = rintf(row(y.low, value) * (1.0f - y.weight) + row(y.high, value) * y.weight);
        return u8(made < 255.0f ? made : 255.0f);
    }
};

KERNEL(clahe)(
    const u8* source, u8* target, const u8* tables, const Image* images, const i64* blocks,
    const u16* colors, i64 rows, i64 columns
) {
    const Block block = block_at(blocks);
    const Image image = images[block.sample];
    const u32 channels = u32(image.channels), width = u32(image.width);
    const u32 pixels = u32(image.volume) / channels, first = u32(block.first);
    const u32 end = pixels - first < SPAN ? pixels : first + SPAN;
    const f32 down = 1.0f / f32(image.height_of_tile), right = 1.0f / f32(image.width_of_tile);
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 y = pixel / width, x = pixel - y * width;
        Tiles tiles;
        tiles.tables = tables + image.plane * rows * columns * 256;
        tiles.y = between(y, down, rows);
        tiles.x = between(x, right, columns);
        tiles.columns = columns;
        const u8* from = source + image.source + i64(pixel) * channels;
        u8* to = target + image.target + i64(pixel) * channels;
        if (image.luma) {
            const Roots roots = roots_of(colors, from);
            const u8 lightness = tiles(lightness_of(roots));
            rgb_of(colors, lightness, red_green_of(roots), blue_yellow_of(roots), to);
        } else {
#pragma unroll 1
            for (u32 channel = 0; channel < channels; channel++) {
                to[channel] = tiles(from[channel]);
                tiles.tables += rows * columns * 256;
            }
        }
    }
}
