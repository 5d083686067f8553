// x + mean + stddev * z; `row_rng_normal_from_word` is translated from eager/rng.py.
DEVICE Target disturbed(Source value, u32 word, const f64* moments) {
    const f64 noise = moments[0] + moments[1] * row_rng_normal_from_word(word);
    return convert<Target>(convert<f64>(value) + noise);
}
