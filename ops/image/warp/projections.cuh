// The matrices of `warp_perspective` in float64, from output to input, by centers of pixels. Not
// translated: on the CPU NumPy and OpenCV compute them.
constexpr i32 SIZE = 9;

// Products as `matrix_product` has them: float32, in the order of the axes.
DEVICE void multiply(const f32* left, const f32* right, f32* out) {
    for (i32 r = 0; r < 3; r++)
        for (i32 c = 0; c < 3; c++) {
            f32 total = 0.0f;
            for (i32 k = 0; k < 3; k++) total += left[3 * r + k] * right[3 * k + c];
            out[3 * r + c] = total;
        }
}

KERNEL(projections)(
    const f32* matrices, const i64* firsts, f64* target, i64 count, bool corners, bool inverted
) {
    const i64 number = i64(blockIdx.x) * THREADS + threadIdx.x;
    if (number >= count) return;
    const f32 there[SIZE] = {1.0f, 0.0f, 0.5f, 0.0f, 1.0f, 0.5f, 0.0f, 0.0f, 1.0f};
    const f32 back[SIZE] = {1.0f, 0.0f, -0.5f, 0.0f, 1.0f, -0.5f, 0.0f, 0.0f, 1.0f};
    f32 given[SIZE], moved[SIZE];
    for (i32 k = 0; k < SIZE; k++) given[k] = matrices[firsts[number] + k];
    if (corners) {
        multiply(given, there, moved);
        multiply(back, moved, given);
    }
    f64 m[SIZE];
    for (i32 k = 0; k < SIZE; k++) m[k] = given[k];
    f64* out = target + number * SIZE;
    if (!inverted) {
        for (i32 k = 0; k < SIZE; k++) out[k] = m[k];
        return;
    }
    // As OpenCV inverts: cofactors over the determinant; 0 for a matrix that has no inverse.
    const f64 volume = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                       m[2] * (m[3] * m[7] - m[4] * m[6]);
    const f64 factor = volume != 0 ? 1 / volume : 0;
    out[0] = (m[4] * m[8] - m[5] * m[7]) * factor;
    out[1] = (m[2] * m[7] - m[1] * m[8]) * factor;
    out[2] = (m[1] * m[5] - m[2] * m[4]) * factor;
    out[3] = (m[5] * m[6] - m[3] * m[8]) * factor;
    out[4] = (m[0] * m[8] - m[2] * m[6]) * factor;
    out[5] = (m[2] * m[3] - m[0] * m[5]) * factor;
    out[6] = (m[3] * m[7] - m[4] * m[6]) * factor;
    out[7] = (m[1] * m[6] - m[0] * m[7]) * factor;
    out[8] = (m[0] * m[4] - m[1] * m[3]) * factor;
}
