// `sphere`, `water` and `jitter`: each pixel is taken from where `origin_of`, which the file of the
// operator has, says.
KERNEL(displace)(
    const Source* source, Source* target, const Displaced* samples, const i64* blocks,
    const Terms* terms, Source hard, f32 soft
) {
    const Block block = block_at(blocks);
    const Displaced sample = samples[block.sample];
    const i32 channels = sample.channels;
    const u32 pixels = u32(sample.height) * u32(sample.width), first = u32(block.first);
    const u32 end = pixels - first < SPAN ? pixels : first + SPAN;
    const Image image{source + sample.source, sample.height, sample.width, channels};
    const Outside outside{true, hard, soft};
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 y = pixel / u32(sample.width), x = pixel - y * u32(sample.width);
        Source* to = target + sample.target + i64(pixel) * channels;
        if (sample.moved) {
            const Point from = origin_of(sample, terms, x, y);
            take_pixel(image, from.x, from.y, outside, to);
        } else {
            const Source* from = image.data + i64(pixel) * channels;
            each_channel(channels, to, [&](i32 c) { return from[c]; });
        }
    }
}
