// Pixel-wise operators, one or several in one pass. `chain` is generated (eager/execution/gpu_elementwise.py): it
// takes one pixel through all steps in registers.
struct Pixels {
    i64 source, target;  // first elements
    i64 pixels;          // of the sample, over all frames
    i64 inner;           // pixels of one frame
    i64 source_frame, target_frame;
    i64 source_pixel, target_pixel;
    i64 source_plane, target_plane;  // elements from one channel to the next
};

KERNEL(pixels)(
    const Source* source, Target* target, const Pixels* samples, const i64* blocks,
    const f32* parameters
) {
    const Block block = block_at(blocks);
    const Pixels sample = samples[block.sample];
    const u32 volume = u32(sample.pixels), first = u32(block.first), inner = u32(sample.inner);
    const u32 end = volume - first < SPAN ? volume : first + SPAN;
    for (u32 pixel = first + threadIdx.x; pixel < end; pixel += THREADS) {
        const u32 frame = quotient(pixel, inner), at = pixel - frame * inner;
        chain(
            source + sample.source + frame * sample.source_frame + at * sample.source_pixel,
            sample.source_plane,
            target + sample.target + frame * sample.target_frame + at * sample.target_pixel,
            sample.target_plane,
            parameters + block.sample * PARAMETERS
        );
    }
}
