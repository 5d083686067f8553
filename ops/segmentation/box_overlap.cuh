// What the two kernels of `box_encoder` share: intersection over union, translated from
// anchors.py.
struct Matched {
    i64 boxes, labels;  // first elements
    i64 count;          // boxes of the sample
    i64 first;          // the number of its first box in the batch
};

DEVICE f32 overlap(const f32* box, const f32* anchor) {
    return row_segmentation_anchors_overlap(
        box[0], box[1], box[2], box[3],
        row_segmentation_anchors_area_of(box[0], box[1], box[2], box[3]),
        anchor[0], anchor[1], anchor[2], anchor[3],
        row_segmentation_anchors_area_of(anchor[0], anchor[1], anchor[2], anchor[3])
    );
}
