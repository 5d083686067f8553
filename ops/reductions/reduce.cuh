// Reductions in the order of cpu.py, so that sums of floats have equal bits. A team
// of threads takes a task: up to 256 columns of a block of rows x columns, one lane each, with
// several rows side by side where there are few columns. Integers need no order: their rows are
// split among tasks.
//
// Generated: KIND, ENDING, PAIRS (of kept and reduced groups of axes); DIRECT: nothing is left to be
// joined, so that totals are finished at once.
struct Reduction {
    i64 source, totals, target;  // first elements
    i64 center, apart;           // the first number that values are subtracted from; 0: it is the only one
    i64 rows, columns;           // of a block
    i64 chunks, splits;          // of its columns, and of its rows
    i64 split_rows, doublings;   // rows of a task; 2**doublings of them are side by side
    i64 tasks, kept, reduced;    // results, and values behind each
    i64 divisor;
    i64 extents[2 * PAIRS + 1];  // of groups of axes, kept and reduced ones in turns
};

constexpr i64 LANES = 256, FLUSH = 32768;

template <class V> DEVICE auto lifted(V value) {
    if constexpr (Same<V, f16>::value) return single_of_half(value);
    else return value;
}
template <class V> DEVICE bool unknown(V value) {
    if constexpr (Limits<V>::FLOAT) return value != value;
    else return false;
}

template <class T> DEVICE T plus(T left, T right) {
    if constexpr (Limits<T>::FLOAT) return left + right;
    else return T(u64(left) + u64(right));
}
DEVICE Lane taken(Lane lane, Source raw, f64 center) {
    const auto value = lifted(raw);
    if constexpr (KIND == SUM) return plus(lane, Lane(value));
    else if constexpr (KIND == SQUARES) return plus(lane, Lane(i32(value) * i32(value)));
    else if constexpr (KIND == DEVIATIONS) {
        const f64 apart = f64(value) - center;
        return lane + Lane(apart * apart);
    }
    else if constexpr (KIND == MINIMUM) return value < lane || unknown(lane) ? value : lane;
    else return value > lane || unknown(lane) ? value : lane;
}
template <class T> DEVICE Total joined(Total total, T other) {
    if constexpr (KIND == MINIMUM) return other < total || unknown(total) ? other : total;
    else if constexpr (KIND == MAXIMUM) return other > total || unknown(total) ? other : total;
    else return plus(total, Total(other));
}
template <class T> DEVICE T finished(Total total, i64 divisor) {
    if constexpr (ENDING == PLAIN) return convert<T>(total);
    else {
        const f64 mean = f64(total) / f64(divisor);
        return convert<T>(ENDING == ROOT ? sqrt(mean) : mean);
    }
}

// Where the results of a block go: its number without the reduced groups in it.
DEVICE i64 place_of(const Reduction& sample, u32 block) {
    i64 place = 0, pitch = sample.columns;
    for (int group = 2 * PAIRS - 2; group >= 0; group--) {
        const u32 extent = u32(sample.extents[group]), rest = block / extent;
        if (group % 2 == 0) {
            place += i64(block - rest * extent) * pitch;
            pitch *= extent;
        }
        block = rest;
    }
    return place;
}

// start: what totals start with; nothing: what they are if nothing is reduced.
KERNEL(reduce)(
    const Source* source, Made* made, const Reduction* samples, const i64* blocks,
    const Center* centers, Total start, Total nothing
) {
    __shared__ Total totals[THREADS];
    const Block block = block_at(blocks);
    const Reduction& sample = samples[block.sample];
    const i64 columns = sample.columns, chunk = columns < LANES ? columns : LANES;
    const u32 side = 1u << sample.doublings, width = side * u32(chunk);
    const u32 team = threadIdx.x / width, lane = threadIdx.x - team * width;
    // There are fewer than 2**31 tasks.
    const u32 task = u32(block.first) + team;
    const bool busy = team < THREADS / width && task < sample.tasks;
    const u32 rest = task / u32(sample.chunks), outer = rest / u32(sample.splits);
    const i64 first = (task - rest * sample.chunks) * chunk, split = rest - outer * sample.splits;
    const u32 count = u32(columns - first < chunk ? columns - first : chunk);
    Total total = start;
    if (busy && lane < side * count) {
        const i64 begin = split * sample.split_rows, left = sample.rows - begin;
        const i64 rows = left < sample.split_rows ? left : sample.split_rows;
        const Source* from =
            source + sample.source + (outer * sample.rows + begin) * columns + first + lane;
        f64 center = 0;
        if constexpr (KIND == DEVIATIONS) {
            i64 at = sample.center;
            if (sample.apart) at += place_of(sample, outer) + first + lane % count;
            center = f64(lifted(centers[at]));
        }
        const i64 whole = rows >> sample.doublings, step = side * columns;
        for (i64 row = 0; row < whole;) {
            const i64 end = row + FLUSH < whole ? row + FLUSH : whole;
            Lane value = Lane(start);
            #pragma unroll 4
            for (; row < end; row++) value = taken(value, from[row * step], center);
            total = joined(total, value);
        }
        if (lane < (rows - whole * side) * columns)
            total = joined(total, taken(Lane(start), from[whole * step], center));
    }
    totals[threadIdx.x] = total;
    __syncthreads();
    for (u32 half = side / 2; half > 0; half /= 2) {
        if (busy && lane < half * count)
            totals[threadIdx.x] =
                joined(totals[threadIdx.x], totals[threadIdx.x + half * count]);
        __syncthreads();
    }
    if (!busy || lane >= count) return;
    if constexpr (DIRECT) {
        const Total found = sample.rows ? totals[threadIdx.x] : nothing;
        made[sample.target + outer * columns + first + lane] =
            finished<Made>(found, sample.divisor);
    } else {
        made[sample.totals + rest * columns + first + lane] = convert<Made>(totals[threadIdx.x]);
    }
}
