// `row_random_uniform__between` is translated from uniform.py; parameters: low, high - low, the largest
// value below high.
DEVICE f32 drawn(u32 word, const f32* range, i64) {
    return row_random_uniform__between(word, range[0], range[1], range[2]);
}
