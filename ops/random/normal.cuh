// `row_random_normal__drawn` is translated from normal.py.
DEVICE f32 drawn(u32 word, const f32* moments, i64) {
    return row_random_normal__drawn(word, moments[0], moments[1]);
}
