// What is 0 dB for `to_decibels`: the largest value of each sample, or 1 if none is above 0.
struct Sample {
    i64 source;  // first element
    i64 volume;
};

KERNEL(loudest)(const f32* source, f32* found, const Sample* samples) {
    __shared__ f32 most[THREADS];
    const Sample sample = samples[blockIdx.x];
    f32 own = 0.0f;
    for (i64 k = threadIdx.x; k < sample.volume; k += THREADS) {
        const f32 value = source[sample.source + k];
        own = value > own ? value : own;
    }
    most[threadIdx.x] = own;
    __syncthreads();
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const f32 other = most[threadIdx.x + half];
            if (other > most[threadIdx.x]) most[threadIdx.x] = other;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) found[blockIdx.x] = most[0] == 0.0f ? 1.0f : most[0];
}
