// Quantiles of the Poisson distribution, as in ops/noise/poisson.py.
DEVICE f64 falling(f64 mean) {
    const f64 halvings = floor(mean * 1.4426950408889634 + 0.5);
    const f64 rest = halvings * 0.6931471805599453 - mean;
    f64 total = 1.0;
    for (int term = 18; term > 0; term--) total = 1.0 + rest / f64(term) * total;
    return ldexp(total, -int(halvings));
}

DEVICE f64 poisson_from_word(f64 mean, u32 word) {
    if (!(mean > 0.0)) return 0.0;
    if (mean - mean != 0.0) return mean;  // infinite
    if (mean <= 64.0) {
        const f64 wanted = (f64(word) + 0.5) * 2.3283064365386963e-10;
        f64 chance = falling(mean), total = chance, k = 0.0;
        while (wanted > total && k < 1000.0) {
            k += 1.0;
            chance *= mean / k;
            total += chance;
        }
        return k;
    }
    const f64 w = row_random_philox_normal_from_word(word), root = sqrt(mean), square = w * w;
    const f64 value =
        mean + root * w + (2.0 + square) / 6.0 - w * (2.0 + square) / (72.0 * root);
    const f64 fine = (3.0 * square + 7.0) * square / 810.0 - 8.0 / 405.0;
    return floor(value + fine / mean);
}

DEVICE Target disturbed(Source value, u32 word, const f64* factor) {
    if (factor[0] == 0.0) return convert<Target>(value);
    const f64 mean = convert<f64>(value) / factor[0];
    return convert<Target>(poisson_from_word(mean, word) * factor[0]);
}
