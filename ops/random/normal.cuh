// mean + stddev * z; `row_random_philox_normal_from_word` is translated from eager/random/philox.py.
DEVICE f32 drawn(u32 word, const f32* moments, i64) {
    return f32(f64(moments[0]) + f64(moments[1]) * row_random_philox_normal_from_word(word));
}
