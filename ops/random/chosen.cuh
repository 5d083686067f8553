// One of the parameters.
DEVICE f32 drawn(u32 word, const f32* values, i64 count) {
    return values[(u64(word) * u64(count)) >> 32];
}
