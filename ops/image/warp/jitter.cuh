// `jitter`: four random words serve two neighbors on a row, as in jitter.py; `own` is the position
// of the sample.
struct Terms {
    u64 seed;
    u32 number;
    f32 degree;
};

DEVICE f32 near(f32 place, f32 low, f32 high, f32 offset) {
    const f32 below = nextafterf(place + high, 0.0f), least = place + low;
    const f32 most = below > least ? below : least, drawn = place + (low + offset);
    return drawn < most ? drawn : most;
}

DEVICE Point origin_of(const Displaced& sample, const Terms* terms, u32 x, u32 y) {
    const Terms own = *terms;
    const f32 low = 0.5f - 0.5f * own.degree, high = 0.5f + 0.5f * own.degree;
    const f32 unit = 0x1p-24f * own.degree;
    const u32 pairs = (u32(sample.width) + 1) / 2;
    const Words words = philox(y * pairs + x / 2, own.number, u64(sample.own), own.seed);
    const u32 right = x & 1 ? words.word[2] : words.word[0];
    const u32 down = x & 1 ? words.word[3] : words.word[1];
    return Point{
        near(f32(x), low, high, f32(right >> 8) * unit),
        near(f32(y), low, high, f32(down >> 8) * unit),
    };
}
