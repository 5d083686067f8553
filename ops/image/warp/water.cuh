// `water`: the host has computed the shift of each row, then, from `own` on, that of each column. What
// is left is a sum.
typedef f32 Terms;

DEVICE Point origin_of(const Displaced& sample, const Terms* terms, u32 x, u32 y) {
    return Point{f32(x) + terms[y], f32(y) + terms[sample.own + x]};
}
