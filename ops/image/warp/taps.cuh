// Pixels taken from given places of an image, as rows.py has it for the CPU: the same float32
// operations in the same order. A place counts from the corner of the first pixel.
struct Image {
    const Source* data;
    i32 height, width, channels;
};
// Outside of the image: `hard` for nearest neighbor, `soft` to mix in, if `filled`; else the
// nearest pixel.
struct Outside {
    bool filled;
    Target hard;
    f32 soft;
};
struct Split { i32 first; f32 weight; };

DEVICE i32 within(i32 index, i32 size) { return index < 0 ? 0 : index < size ? index : size - 1; }
DEVICE bool holds(i32 size, i32 index) { return u32(index) < u32(size); }

DEVICE i32 bounded(f32 place, i32 size) {
    if (!(place >= 0.0f)) return 0;
    if (place >= f32(size)) return size - 1;
    // A large size may round up in float32.
    return within(i32(place), size);
}
DEVICE bool contains(i32 size, f32 place) { return place >= 0.0f && place < f32(size); }

DEVICE Split split(f32 place, i32 size) {
    const f32 shifted = place - 0.5f, whole = floorf(shifted);
    // The weight counts outside too; of places that are not finite it is NaN here, then 0.
    f32 weight = shifted - whole;
    if (!(weight >= 0.0f)) weight = 0.0f;
    if (!(whole >= -2.0f)) return Split{-2, weight};
    if (whole >= f32(size)) return Split{size, weight};
    return Split{i32(whole), weight};
}

// Three channels at once, since the compiler may not load from one place past a store to another.
template <class Taken> DEVICE void each_channel(i32 channels, Target* to, const Taken& taken) {
    if (channels == 3) {
        const Target red = taken(0), green = taken(1), blue = taken(2);
        to[0] = red, to[1] = green, to[2] = blue;
        return;
    }
#pragma unroll 1
    for (i32 c = 0; c < channels; c++) to[c] = taken(c);
}

DEVICE void nearest_pixel(const Image& image, f32 x, f32 y, const Outside& outside, Target* to) {
    const bool inside = contains(image.width, x) && contains(image.height, y);
    const i32 pixel = bounded(y, image.height) * image.width + bounded(x, image.width);
    const Source* from = image.data + pixel * image.channels;
    const bool hard = outside.filled && !inside;
    each_channel(image.channels, to, [&](i32 c) {
        return hard ? outside.hard : convert<Target>(from[c]);
    });
}

DEVICE void linear_pixel(const Image& image, f32 x, f32 y, const Outside& outside, Target* to) {
    const Split across = split(x, image.width), down = split(y, image.height);
    const i32 x0 = within(across.first, image.width), x1 = within(across.first + 1, image.width);
    const i32 y0 = within(down.first, image.height), y1 = within(down.first + 1, image.height);
    const bool left = !outside.filled || x0 == across.first;
    const bool right = !outside.filled || x1 == across.first + 1;
    const bool above = !outside.filled || y0 == down.first;
    const bool below = !outside.filled || y1 == down.first + 1;
    const Source* upper = image.data + y0 * image.width * image.channels;
    const Source* lower = image.data + y1 * image.width * image.channels;
    const i32 first = x0 * image.channels, second = x1 * image.channels;
    const f32 q = across.weight, p = 1.0f - q;
    each_channel(image.channels, to, [&](i32 c) {
        f32 a = above && left ? convert<f32>(upper[first + c]) : outside.soft;
        f32 b = above && right ? convert<f32>(upper[second + c]) : outside.soft;
        const f32 top = a * p + b * q;
        a = below && left ? convert<f32>(lower[first + c]) : outside.soft;
        b = below && right ? convert<f32>(lower[second + c]) : outside.soft;
        return convert<Target>(top + ((a * p + b * q) - top) * down.weight);
    });
}

DEVICE void take_pixel(const Image& image, f32 x, f32 y, const Outside& outside, Target* to) {
    if constexpr (LINEAR) linear_pixel(image, x, y, outside, to);
    else nearest_pixel(image, x, y, outside, to);
}
