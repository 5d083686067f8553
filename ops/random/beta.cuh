// Values with a beta distribution, as in beta.py: two gamma variables by rejection, each value with a
// stream of random words of its own. `row_random_philox_...` are translated from
// eager/random/philox.py; the loops are not, since a translated kernel has no words to draw.
struct Betas { i64 target, count, position; };

// A number between 0 and 1, both excluded, from 53 random bits.
DEVICE f64 fraction_of(u32 high, u32 low) {
    return (f64(((u64(high) << 32) | low) >> 11) + 0.5) * 0x1p-53;
}

DEVICE f64 log_gamma(f64 shape, bool second, u32 number, u64 position, u64 seed) {
    const f64 larger = shape < 1.0 ? shape + 1.0 : shape;
    const f64 d = larger - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    f64 result = row_random_philox_natural_log(d);
    for (u32 attempt = 0; attempt < 1000000; attempt++) {
        const Words words = philox(attempt, number, position, seed);
        const f64 x = row_random_philox_normal_from_word(second ? words.word[2] : words.word[0]);
        const f64 u = (f64(second ? words.word[3] : words.word[1]) + 0.5) * 0x1p-32;
        const f64 root = 1.0 + c * x;
        if (root <= 0.0) continue;
        const f64 v = root * root * root, log_v = row_random_philox_natural_log(v), square = x * x;
        if (u < 1.0 - 0.0331 * square * square || d > 1e10 ||
            row_random_philox_natural_log(u) < 0.5 * square + d * (1.0 - v + log_v)) {
            result += log_v;
            break;
        }
    }
    if (shape < 1.0) {
        const Words words = philox(0xFFFFFFFFu, number, position, seed);
        const f64 u = second ? fraction_of(words.word[2], words.word[3])
                             : fraction_of(words.word[0], words.word[1]);
        result += row_random_philox_natural_log(u) / shape;
    }
    return result;
}

// exp(x) / (exp(x) + exp(y)), as `ratios` in beta_blocks.py has it.
DEVICE f64 ratio_of(f64 x, f64 y) {
    const f64 difference = y - x;
    f64 apart = difference > -800.0 ? difference : -800.0;
    apart = -fabs(apart < 800.0 ? apart : 800.0);
    const f64 power = floor(apart / 0.6931471805599453 + 0.5);
    const f64 rest = apart - power * 0.6931471805599453;
    f64 one = 1.0;
    for (int j = 16; j > 0; j--) one = 1.0 + one * rest / f64(j);
    // In two steps, since half of the results have no normal number for the power.
    const int whole = int(power), half = whole >> 1;
    const f64 small = one * ldexp(1.0, half) * ldexp(1.0, whole - half);
    return (difference <= 0.0 ? 1.0 : small) / (1.0 + small);
}

KERNEL(beta)(
    Target* target, const Betas* samples, const i64* blocks, u64 seed, u32 number,
    const f64* shapes
) {
    const Block block = block_at(blocks);
    const Betas sample = samples[block.sample];
    const i64 end = sample.count - block.first < SPAN ? sample.count : block.first + SPAN;
    for (i64 k = block.first + threadIdx.x; k < end; k += THREADS) {
        const Words words = philox(u32(k), number, u64(sample.position), seed);
        const u64 own = (u64(words.word[0]) << 32) | words.word[1];
        const u64 place = (u64(words.word[2]) << 32) | words.word[3];
        const f64 x = log_gamma(shapes[2 * block.sample], false, number, place, own);
        const f64 y = log_gamma(shapes[2 * block.sample + 1], true, number, place, own);
        target[sample.target + k] = convert<Target>(ratio_of(x, y));
    }
}
