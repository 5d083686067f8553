// What the two kernels of `box_encoder` share: intersection over union, as box_encoder.py has it.
struct Matched {
    i64 boxes, labels;  // first elements
    i64 count;          // boxes of the sample
    i64 first;          // the number of its first box in the batch
};

// Python's: the second where it is smaller or larger, also if one of them is no number.
DEVICE f32 smaller(f32 one, f32 other) { return other < one ? other : one; }
DEVICE f32 larger(f32 one, f32 other) { return other > one ? other : one; }

DEVICE f32 overlap(const f32* box, const f32* anchor) {
    const f32 left = box[0], top = box[1], right = box[2], bottom = box[3];
    const f32 own = (right - left) * (bottom - top);
    const f32 other = (anchor[2] - anchor[0]) * (anchor[3] - anchor[1]);
    const f32 width = smaller(right, anchor[2]) - larger(left, anchor[0]);
    const f32 height = smaller(bottom, anchor[3]) - larger(top, anchor[1]);
    const f32 common = width > 0.0f && height > 0.0f ? width * height : 0.0f;
    return common > 0.0f ? common / (own + other - common) : 0.0f;
}
