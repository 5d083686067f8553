// `sphere`: drawn toward the center, as in sphere.py; `row_warp_sphere__radius` and
// `row_warp_sphere__stretch` are translated from there.
typedef u8 Terms;

DEVICE Point origin_of(const Displaced& sample, const Terms*, u32 x, u32 y) {
    const f32 middle_x = f32(sample.width) * 0.5f, middle_y = f32(sample.height) * 0.5f;
    const f32 dx = (f32(x) + 0.5f) - middle_x, dy = (f32(y) + 0.5f) - middle_y;
    const f32 radius = row_warp_sphere__radius(sample.height, sample.width);
    const f32 scale = row_warp_sphere__stretch(dx, dy, radius);
    return Point{middle_x + scale * dx, middle_y + scale * dy};
}
