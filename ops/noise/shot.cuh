// factor * k, with k from a Poisson distribution: `falling` and `poisson_from_word` are translated
// from ops/noise/poisson.py.
DEVICE Target disturbed(Source value, u32 word, const f64* factor) {
    if (factor[0] == 0.0) return convert<Target>(value);
    const f64 mean = convert<f64>(value) / factor[0];
    // Above 64 the quantile is expanded, and no probability is read.
    const f64 none = mean > 0.0 && mean <= 64.0 ? row_noise_poisson_falling(mean) : 0.0;
    return convert<Target>(row_noise_poisson_poisson_from_word(mean, none, word) * factor[0]);
}
