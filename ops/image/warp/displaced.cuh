// What the files of `sphere`, `water` and `jitter` and the kernel of all three, displace.cuh, share.
struct Displaced {
    i64 source, target;  // first elements
    i64 own;             // what the operator has for each sample
    i32 height, width, channels;
    i32 moved;  // 0: the sample stays as it is
};
struct Point { f32 x, y; };
