// `spectrogram`: several frames by a block of threads, transformed in shared memory. The passes are
// those of fourier.py, in the same order of operations.
struct Sound {
    i64 source, target;  // first elements
    u32 size, frames;
};

// A transform: the length of the complex one, its factors and their twiddles (see FourierPlan).
struct Transform {
    i64 length, factors, side;  // side: frames that a block takes
    i64 start, step, window, nfft;
    i64 reflect, power, rows;
};

constexpr i64 WORK = 8192;  // spectrogram.py knows it, too

DEVICE i64 mirrored(i64 at, i64 size) {
    if (size == 1) return 0;
    const i64 period = 2 * (size - 1);
    at %= period;
    if (at < 0) at += period;
    return at < period - at ? at : period - at;
}

// z times exp(-i angle), of which c and s are the cosine and the negative sine.
DEVICE void turn(f32& re, f32& im, const f32* twiddle) {
    const f32 c = twiddle[0], s = twiddle[1], x = re * c - im * s;
    im = re * s + im * c;
    re = x;
}

DEVICE void pass_4(
    i64 at, i64 apart, i64 to, i64 width, i64 p, const f32* re, const f32* im, f32* to_re, f32* to_im,
    const f32* twiddles
) {
    const f32 ar = re[at], ai = im[at], br = re[at + apart], bi = im[at + apart];
    const f32 cr = re[at + 2 * apart], ci = im[at + 2 * apart];
    const f32 dr = re[at + 3 * apart], di = im[at + 3 * apart];
    const f32 pr = ar + cr, pi = ai + ci, mr = ar - cr, mi = ai - ci;
    const f32 vr = br + dr, vi = bi + di, wr = br - dr, wi = bi - di;
    to_re[to] = pr + vr;
    to_im[to] = pi + vi;
    f32 xr = mr + wi, xi = mi - wr, yr = pr - vr, yi = pi - vi, zr = mr - wi, zi = mi + wr;
    if (p > 0) {
        turn(xr, xi, twiddles + 6 * p);
        turn(yr, yi, twiddles + 6 * p + 2);
        turn(zr, zi, twiddles + 6 * p + 4);
    }
    to_re[to + width] = xr;
    to_im[to + width] = xi;
    to_re[to + 2 * width] = yr;
    to_im[to + 2 * width] = yi;
    to_re[to + 3 * width] = zr;
    to_im[to + 3 * width] = zi;
}

DEVICE void pass_2(
    i64 at, i64 apart, i64 to, i64 width, i64 p, const f32* re, const f32* im, f32* to_re, f32* to_im,
    const f32* twiddles
) {
    const f32 ar = re[at], ai = im[at], br = re[at + apart], bi = im[at + apart];
    to_re[to] = ar + br;
    to_im[to] = ai + bi;
    f32 xr = ar - br, xi = ai - bi;
    if (p > 0) turn(xr, xi, twiddles + 2 * p);
    to_re[to + width] = xr;
    to_im[to + width] = xi;
}

DEVICE void pass_odd(
    i64 at, i64 apart, i64 to, i64 width, i64 p, i64 factor, i64 part, const f32* re, const f32* im,
    f32* to_re, f32* to_im, const f32* twiddles
) {
    const i64 half = factor / 2;
    const f32* roots = twiddles + 2 * part * (factor - 1);
    const f32 fr = re[at], fi = im[at];
    f32 tr = fr, ti = fi;
    for (i64 j = 1; j <= half; j++) {
        const i64 a = at + j * apart, b = at + (factor - j) * apart;
        tr = tr + (re[a] + re[b]);
        ti = ti + (im[a] + im[b]);
    }
    to_re[to] = tr;
    to_im[to] = ti;
    for (i64 k = 1; k <= half; k++) {
        f32 er = fr, ei = fi, hr = 0.0f, hi = 0.0f;
        for (i64 j = 1; j <= half; j++) {
            const i64 a = at + j * apart, b = at + (factor - j) * apart;
            const f32 c = roots[2 * (j * k % factor)], s = roots[2 * (j * k % factor) + 1];
            er = er + (re[a] + re[b]) * c;
            ei = ei + (im[a] + im[b]) * c;
            hr = hr + (re[a] - re[b]) * s;
            hi = hi + (im[a] - im[b]) * s;
        }
        for (int way = 0; way < 2; way++) {
            const i64 number = way ? factor - k : k;
            f32 xr = way ? er + hi : er - hi, xi = way ? ei - hr : ei + hr;
            if (p > 0) turn(xr, xi, twiddles + 2 * (p * (factor - 1) + number - 1));
            to_re[to + number * width] = xr;
            to_im[to + number * width] = xi;
        }
    }
}

KERNEL(spectrogram)(
    const f32* source, f32* target, const Sound* samples, const i64* blocks,
    const Transform* transforms, const i64* factors, const f32* twiddles, const f32* last,
    const f32* window
) {
    __shared__ f32 work[WORK];
    const Transform& plan = transforms[0];
    const Block block = block_at(blocks);
    const Sound sound = samples[block.sample];
    const i64 length = plan.length, nfft = plan.nfft, left = i64(sound.frames) - block.first;
    const i64 count = left < plan.side ? left : plan.side, all = count * length;
    const i64 margin = (nfft - plan.window) / 2;
    // Of each frame in turn: real parts, imaginary parts; then the same for the other passes.
    f32* re = work;
    f32* im = work + plan.side * length;
    f32* other_re = work + 2 * plan.side * length;
    f32* other_im = work + 3 * plan.side * length;
    for (i64 k = threadIdx.x; k < count * nfft; k += THREADS) {
        const i64 frame = k / nfft, number = k - frame * nfft, t = number - margin;
        f32 value = 0.0f;
        if (t >= 0 && t < plan.window) {
            const i64 at = (block.first + frame) * plan.step + plan.start + t;
            const bool inside = at >= 0 && at < i64(sound.size);
            if (inside || plan.reflect)
                value = source[sound.source + (inside ? at : mirrored(at, sound.size))];
            value = window[t] * value;
        }
        if (nfft % 2) {
            re[frame * length + number] = value;
            im[frame * length + number] = 0.0f;
        } else (number % 2 ? im : re)[frame * length + number / 2] = value;
    }
    i64 size = length, stride = 1;
    const f32* own = twiddles;
    for (i64 number = 0; number < plan.factors; number++) {
        __syncthreads();
        const i64 factor = factors[number], part = size / factor, apart = stride * part;
        for (i64 k = threadIdx.x; k < all / factor; k += THREADS) {
            const i64 frame = k / apart, rest = k - frame * apart, p = rest / stride;
            const i64 at = frame * length + rest;
            const i64 to = frame * length + (rest - p * stride) + factor * stride * p;
            if (factor == 4)
                pass_4(at, apart, to, stride, p, re, im, other_re, other_im, own);
            else if (factor == 2)
                pass_2(at, apart, to, stride, p, re, im, other_re, other_im, own);
            else
                pass_odd(at, apart, to, stride, p, factor, part, re, im, other_re, other_im, own);
        }
        own += 2 * part * (factor - 1) + (factor % 2 ? 2 * factor : 0);
        f32* kept = re;
        re = other_re;
        other_re = kept;
        kept = im;
        im = other_im;
        other_im = kept;
        size = part;
        stride *= factor;
    }
    __syncthreads();
    const i64 bins = nfft / 2 + 1;
    for (i64 k = threadIdx.x; k < count * bins; k += THREADS) {
        const i64 frame = plan.rows ? k % count : k / bins;
        const i64 bin = plan.rows ? k / count : k - frame * bins;
        const f32* real = re + frame * length;
        const f32* imaginary = im + frame * length;
        f32 xr, xi;
        if (nfft % 2) {
            xr = real[bin];
            xi = imaginary[bin];
        } else {
            const i64 at = bin % length, mirror = (length - bin) % length;
            const bool far = 2 * bin > length;
            const i64 t = 2 * (far ? length - bin : bin);
            const f32 c = far ? -last[t] : last[t], s = last[t + 1];
            const f32 dr = real[at] - real[mirror], di = imaginary[at] + imaginary[mirror];
            const f32 er = real[at] + real[mirror], ei = imaginary[at] - imaginary[mirror];
            xr = 0.5f * (er + (dr * s + di * c));
            xi = 0.5f * (ei + (di * s - dr * c));
        }
        f32 value = xr * xr + xi * xi;
        if (plan.power == 1) value = sqrtf(value);
        const i64 at = block.first + frame;
        const i64 to = plan.rows ? bin * sound.frames + at : at * bins + bin;
        target[sound.target + to] = value;
    }
}
