// `jitter`: four random words serve two neighbors on a row, as in jitter.py, from which
// `row_warp_jitter__near` is translated; `own` is the position of the sample.
struct Terms {
    u64 seed;
    u32 number;
    f32 degree;
};

DEVICE Point origin_of(const Displaced& sample, const Terms* terms, u32 x, u32 y) {
    const Terms own = *terms;
    const u32 pairs = (u32(sample.width) + 1) / 2;
    const Words words = philox(y * pairs + x / 2, own.number, u64(sample.own), own.seed);
    const u32 right = x & 1 ? words.word[2] : words.word[0];
    const u32 down = x & 1 ? words.word[3] : words.word[1];
    return Point{
        row_warp_jitter__near(f32(x), own.degree, right),
        row_warp_jitter__near(f32(y), own.degree, down),
    };
}
