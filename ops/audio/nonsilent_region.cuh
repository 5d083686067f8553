// `nonsilent_region`: the first and the last of the windows of a signal that are loud enough, from
// their sums (window_sums.cuh). A block takes a signal.
struct Sound {
    i64 source, sums;  // first elements
    u32 volume, window;
};

KERNEL(nonsilent_region)(
    const Kind* sums, i32* begins, i32* lengths, const Sound* audio, f64 given, f64 ratio
) {
    __shared__ Kind most[THREADS];
    __shared__ i32 firsts[THREADS];
    __shared__ i32 lasts[THREADS];
    const Sound& sound = audio[blockIdx.x];
    const Kind* own = sums + sound.sums;
    const u32 own_thread = threadIdx.x;
    const i64 volume = sound.volume;
    const f64 divisor = f64(sound.window);
    Kind largest = Kind(-1);
    if (given < 0.0) {
        for (i64 t = own_thread; t < volume; t += THREADS) {
            const Kind sum = own[t];  // NaN is never larger
            largest = sum > largest ? sum : largest;
        }
    }
    most[own_thread] = largest;
    __syncthreads();
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        if (own_thread < half) {
            const Kind other = most[own_thread + half];
            if (other > most[own_thread]) most[own_thread] = other;
        }
        __syncthreads();
    }
    // The quotient of the largest sum is the largest quotient.
    const f64 reference = given < 0.0 ? f64(most[0]) / divisor : given;
    const f64 least = reference * ratio;
    i64 first = 0, last = volume - 1 - own_thread;
    for (first = own_thread; first < volume; first += THREADS) {
        if (f64(own[first]) / divisor >= least) break;
    }
    for (; last >= 0; last -= THREADS) {
        if (f64(own[last]) / divisor >= least) break;
    }
    firsts[own_thread] = i32(first < volume ? first : volume);
    lasts[own_thread] = i32(last < 0 ? -1 : last);
    __syncthreads();
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        if (own_thread < half) {
            const i32 other = firsts[own_thread + half], later = lasts[own_thread + half];
            if (other < firsts[own_thread]) firsts[own_thread] = other;
            if (later > lasts[own_thread]) lasts[own_thread] = later;
        }
        __syncthreads();
    }
    if (own_thread > 0) return;
    const i32 before = i32(sound.window) - 1, end = lasts[0] + 1;
    const i32 begin = firsts[0] > before ? firsts[0] - before : 0;
    begins[blockIdx.x] = end > 0 ? begin : 0;
    lengths[blockIdx.x] = end > 0 ? end - begin : 0;
}
