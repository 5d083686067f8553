// `box_encoder`: for each anchor its box, and what is said of it. Of boxes that overlap an anchor
// alike the last one counts, and of those that are forced upon it. `center_difference` and
// `size_difference` are translated from anchors.py.
struct Terms { f32 limit, scale, means[4], stds[4]; u32 offset; };

KERNEL(box_encoder)(
    const f32* boxes, const i32* labels, f32* target, i32* target_labels, const i32* forced,
    const Matched* samples, const i64* blocks, const f32* anchors, const f32* centers,
    i64 count, const Terms* given
) {
    const Block block = block_at(blocks);
    const Matched sample = samples[block.sample];
    const Terms& terms = given[0];
    const i64 rest = count - block.first, end = rest < SPAN ? count : block.first + SPAN;
    for (i64 a = block.first + threadIdx.x; a < end; a += THREADS) {
        i64 chosen = -1, taken = -1;
        f32 best = -1.0f;
        const f32 limit = terms.limit;
        for (i64 b = 0; b < sample.count; b++) {
            const f32 value = overlap(boxes + sample.boxes + 4 * b, anchors + 4 * a);
            if (value > limit && value >= best) best = value, chosen = b;
            if (forced[sample.first + b] == a) taken = b;
        }
        chosen = taken < 0 ? chosen : taken;
        const f32* own = centers + 4 * a;
        f32* to = target + 4 * (block.sample * count + a);
        i32* label = target_labels + block.sample * count + a;
        if (chosen < 0) {
            *label = 0;
            for (int c = 0; c < 4; c++) to[c] = terms.offset ? 0.0f : own[c];
            continue;
        }
        *label = labels[sample.labels + chosen];
        const f32* box = boxes + sample.boxes + 4 * chosen;
        for (int c = 0; c < 2; c++) {
            const f32 center = (box[c] + box[c + 2]) * 0.5f, extent = box[c + 2] - box[c];
            if (terms.offset) {
                to[c] = row_segmentation_anchors_center_difference(
                    center, own[c], own[c + 2], terms.scale, terms.means[c], terms.stds[c]
                );
                to[c + 2] = row_segmentation_anchors_size_difference(
                    extent, own[c + 2], terms.scale, terms.means[c + 2], terms.stds[c + 2]
                );
            } else {
                to[c] = center, to[c + 2] = extent;
            }
        }
    }
}
