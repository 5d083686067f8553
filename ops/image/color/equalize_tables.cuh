// `equalize`, second: the new value of each value of a plane, from the counts of its pieces.
struct Plane { i64 pixels, first, pieces; };

KERNEL(equalize_tables)(const u32* counts, u8* tables, const Plane* planes) {
    __shared__ u32 sums[256];
    __shared__ u32 least;
    const Plane plane = planes[blockIdx.x];
    const u32 pixels = u32(plane.pixels), value = threadIdx.x;
    u32 own = 0;
    for (i64 k = 0; k < plane.pieces; k++) own += counts[(plane.first + k) * 256 + value];
    const u32 sum = running_sum(sums, own);
    // Only the least value that occurs has no other one below it.
    if (own && sum == own) least = own;
    __syncthreads();
    u32 made = value;
    if (least != pixels) {
        const f32 scale = 255.0f / f32(pixels - least);
        const f32 spread = rintf(f32(sum < least ? 0 : sum - least) * scale);
        made = u32(spread < 255.0f ? spread : 255.0f);
    }
    tables[i64(blockIdx.x) * 256 + value] = u8(made);
}
