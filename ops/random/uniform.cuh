// low + u * (high - low); parameters: low, high - low, the largest value below high.
DEVICE f32 drawn(u32 word, const f32* range, i64) {
    const f32 value = range[0] + f32(word >> 8) * 0x1p-24f * range[1];
    return value < range[2] ? value : range[2];
}
