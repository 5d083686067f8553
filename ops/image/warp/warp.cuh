// Images and volumes under affine maps (warp_affine_cpu.py, volume.py). The place of a
// pixel is a sum of steps from its row's start, again after each TILE pixels. So a block first adds
// up the places of its tiles, a thread per tile and axis, and then takes the pixels.
constexpr u32 TILE = 256;
constexpr u32 ROOM = 2048 + 128;  // places of a block; one is left out after each tile, for banks

struct Warp {
    i64 source, target;  // first elements
    i64 matrix;          // first element of the first one
    i64 frames_apart;    // elements from the matrix of one frame to that of the next
    i32 extents[3];      // of the source: depth, height, width
    i32 sizes[3];        // of the target
    i32 channels;
    u32 across;  // tiles in a row
    u32 width;   // of a tile, at most TILE
    u32 group;   // tiles that a block takes
    u32 tiles;   // of the sample
    u32 lines;   // of a frame
};

struct Row { u32 frame, z, y; };

DEVICE Row row_of(const Warp& sample, u32 line) {
    const u32 rest = line / u32(sample.sizes[1]), frame = rest / u32(sample.sizes[0]);
    return Row{frame, rest - frame * u32(sample.sizes[0]), line - rest * u32(sample.sizes[1])};
}

DEVICE f32 start_of(const f32* m, const Row& row) {
    f32 start = m[AXES] + 0.5f * m[0];
    start = start + (f32(row.y) + 0.5f) * m[1];
    if constexpr (AXES == 3) start = start + (f32(row.z) + 0.5f) * m[2];
    return start;
}

DEVICE void nearest_voxel(
    const Image& image, i32 depth, f32 x, f32 y, f32 z, const Outside& outside, Target* to
) {
    const bool inside =
        contains(image.width, x) && contains(image.height, y) && contains(depth, z);
    const i32 plane = bounded(z, depth) * image.height + bounded(y, image.height);
    const i32 voxel = plane * image.width + bounded(x, image.width);
    const Source* from = image.data + voxel * image.channels;
    const bool hard = outside.filled && !inside;
    each_channel(image.channels, to, [&](i32 c) {
        return hard ? outside.hard : convert<Target>(from[c]);
    });
}

DEVICE void linear_voxel(
    const Image& image, i32 depth, f32 x, f32 y, f32 z, const Outside& outside, Target* to
) {
    const Split across = split(x, image.width), down = split(y, image.height);
    const Split back = split(z, depth);
    const f32 qx = across.weight, px = 1.0f - qx, qy = down.weight, py = 1.0f - qy;
#pragma unroll 1
    for (i32 c = 0; c < image.channels; c++) {
        f32 lines[2], value = 0.0f;
#pragma unroll 1
        for (i32 far = 0; far < 2; far++) {
            for (i32 low = 0; low < 2; low++) {
                const i32 zs = within(back.first + far, depth);
                const i32 ys = within(down.first + low, image.height);
                const bool inside = zs == back.first + far && ys == down.first + low;
                const i32 x0 = within(across.first, image.width);
                const i32 x1 = within(across.first + 1, image.width);
                const i32 row = (zs * image.height + ys) * image.width;
                const bool left = !outside.filled || (inside && x0 == across.first);
                const bool right = !outside.filled || (inside && x1 == across.first + 1);
                const f32 a =
                    left ? convert<f32>(image.data[(row + x0) * image.channels + c]) : outside.soft;
                const f32 b =
                    right ? convert<f32>(image.data[(row + x1) * image.channels + c]) : outside.soft;
                lines[low] = a * px + b * qx;
            }
            const f32 plane = lines[0] * py + lines[1] * qy;
            value = far ? value + (plane - value) * back.weight : plane;
        }
        to[c] = convert<Target>(value);
    }
}

KERNEL(warp)(
    const Source* source, Target* target, const f32* matrices, const Warp* samples,
    const i64* blocks, bool filled, Target hard, f32 soft
) {
    __shared__ f32 places[AXES][ROOM];
    const Block block = block_at(blocks);
    const Warp& sample = samples[block.sample];
    const u32 first = u32(block.first), left = sample.tiles - first;
    const u32 tiles = left < sample.group ? left : sample.group;
    const u32 pitch = sample.width | 1u, columns = u32(sample.sizes[2]);
#pragma unroll 1
    for (u32 job = threadIdx.x; job < AXES * tiles; job += THREADS) {
        const u32 axis = job / tiles, tile = job - axis * tiles;
        const u32 line = (first + tile) / sample.across;
        const u32 before = first + tile - line * sample.across;
        const Row row = row_of(sample, line);
        const i64 matrix = sample.matrix + row.frame * sample.frames_apart;
        const f32* m = matrices + matrix + axis * (AXES + 1);
        const f32 step = m[0], far = f32(TILE) * step;
        f32 place = start_of(m, row);
#pragma unroll 1
        for (u32 k = 0; k < before; k++) place += far;
        const u32 rest = columns - before * TILE, count = rest < TILE ? rest : TILE;
        for (u32 k = 0; k < count; k++) {
            places[axis][tile * pitch + k] = place;
            place += step;
        }
    }
    __syncthreads();
    const i32 depth = sample.extents[0];
    const i64 volume = depth * sample.extents[1] * sample.extents[2] * sample.channels;
    const Outside outside{filled, hard, soft};
    for (u32 pixel = threadIdx.x; pixel < tiles * sample.width; pixel += THREADS) {
        const u32 tile = pixel / sample.width, k = pixel - tile * sample.width;
        const u32 line = (first + tile) / sample.across;
        const u32 column = (first + tile - line * sample.across) * TILE + k;
        if (column >= columns) continue;
        const Source* from = source + sample.source + line / sample.lines * volume;
        const Image image{from, sample.extents[1], sample.extents[2], sample.channels};
        Target* to = target + sample.target + (i64(line) * columns + column) * sample.channels;
        const u32 at = tile * pitch + k;
        if constexpr (AXES == 2) take_pixel(image, places[0][at], places[1][at], outside, to);
        else if constexpr (LINEAR)
            linear_voxel(image, depth, places[0][at], places[1][at], places[2][at], outside, to);
        else nearest_voxel(image, depth, places[0][at], places[1][at], places[2][at], outside, to);
    }
}
