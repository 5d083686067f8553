// `sphere`: drawn toward the center, as in sphere.py.
typedef u8 Terms;

DEVICE Point origin_of(const Displaced& sample, const Terms*, u32 x, u32 y) {
    const f32 middle_x = f32(sample.width) * 0.5f, middle_y = f32(sample.height) * 0.5f;
    const i32 longer = sample.width > sample.height ? sample.width : sample.height;
    const f32 radius = f32(longer > 3 ? longer / 2 : 1);
    const f32 dx = (f32(x) + 0.5f) - middle_x, dy = (f32(y) + 0.5f) - middle_y;
    const f32 scale = sqrtf(dx * dx + dy * dy) / radius;
    return Point{middle_x + scale * dx, middle_y + scale * dy};
}
