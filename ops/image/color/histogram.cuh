// How often each value of a byte occurs, counted by one block: a thread for each value.
static_assert(THREADS == 256, "a thread for each value of a byte");

// One histogram for every 32 threads: equal values of neighbors would else wait for each other.
constexpr u32 COPIES = THREADS / 32;

struct Histogram { u32 counts[COPIES * 256]; };

DEVICE void clear(Histogram& histogram) {
    for (u32 copy = 0; copy < COPIES; copy++) histogram.counts[copy * 256 + threadIdx.x] = 0;
    __syncthreads();
}

DEVICE void count(Histogram& histogram, u32 value) {
    atomicAdd(&histogram.counts[threadIdx.x / 32 * 256 + value], 1u);
}

// How often the thread's own value occurred, when all threads have counted.
DEVICE u32 counted(const Histogram& histogram) {
    __syncthreads();
    u32 sum = 0;
    for (u32 copy = 0; copy < COPIES; copy++) sum += histogram.counts[copy * 256 + threadIdx.x];
    return sum;
}

// The sum of the values of this thread and of all before it; once in a kernel. sums: 256 places for
// the block. Some threads sum runs of 16, then all add what is before their run.
DEVICE u32 running_sum(u32* sums, u32 value) {
    sums[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x < 16) {
        u32* run = sums + threadIdx.x * 16;
        for (u32 k = 1; k < 16; k++) run[k] += run[k - 1];
    }
    __syncthreads();
    u32 sum = sums[threadIdx.x];
    for (u32 run = 0; run < threadIdx.x / 16; run++) sum += sums[run * 16 + 15];
    return sum;
}
