// x + mean + stddev * z; `row_random_philox_normal_from_word` is translated from eager/random/philox.py.
DEVICE Target disturbed(Source value, u32 word, const f64* moments) {
    const f64 noise = moments[0] + moments[1] * row_random_philox_normal_from_word(word);
    return convert<Target>(convert<f64>(value) + noise);
}
