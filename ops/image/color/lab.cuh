// 8-bit RGB to CIE Lab and back in integers, as OpenCV has it on the CPU. What is no polynomial is
// looked up: see ops/image/color/clahe.py, which makes the tables in this order.
constexpr u32 LINEAR = 0, ROOT = 256, LUMA = 2297, LUMA_ROOT = 2553, SHOWN = 2809;

DEVICE u8 byte_of(i32 value) { return u8(value < 0 ? 0 : value > 255 ? 255 : value); }

struct Roots { i32 x, y, z; };

DEVICE Roots roots_of(const u16* tables, const u8* pixel) {
    const i32 red = tables[LINEAR + pixel[0]], green = tables[LINEAR + pixel[1]];
    const i32 blue = tables[LINEAR + pixel[2]];
    Roots roots;
    roots.x = tables[ROOT + ((1777 * red + 1541 * green + 778 * blue + 2048) >> 12)];
    roots.y = tables[ROOT + ((871 * red + 2929 * green + 296 * blue + 2048) >> 12)];
    roots.z = tables[ROOT + ((73 * red + 448 * green + 3575 * blue + 2048) >> 12)];
    return roots;
}

// 116 y^(1/3) - 16, of 255 instead of 100.
DEVICE u8 lightness_of(const Roots& roots) {
    return byte_of((296 * roots.y - 1336934 + 16384) >> 15);
}

DEVICE u8 red_green_of(const Roots& roots) {
    return byte_of((500 * (roots.x - roots.y) + (128 << 15) + 16384) >> 15);
}

DEVICE u8 blue_yellow_of(const Roots& roots) {
    return byte_of((200 * (roots.y - roots.z) + (128 << 15) + 16384) >> 15);
}

// The cube of a root, both in units of 1 / 16384; a straight line below 6 / 29.
DEVICE i32 cube_of(i32 root) {
    return root <= 3390 ? root * 108 / 841 - 290 : root * root / 16384 * root / 16384;
}

DEVICE u8 shown(const u16* tables, i32 linear) {
    linear = (linear + (1 << 13)) >> 14;
    return u8(tables[SHOWN + (linear < 0 ? 0 : linear > 4095 ? 4095 : linear)]);
}

DEVICE void rgb_of(const u16* tables, u8 lightness, u8 red_green, u8 blue_yellow, u8* pixel) {
    const i32 y = tables[LUMA + lightness], root = tables[LUMA_ROOT + lightness];
    const i32 x = cube_of(root + ((5 * i32(red_green) * 53687 + 128) >> 13) - 4194);
    const i32 z = cube_of(root - ((i32(blue_yellow) * 41943 + 16) >> 9) + 10484);
    pixel[0] = shown(tables, 12615 * x - 6296 * y - 2223 * z);
    pixel[1] = shown(tables, -3773 * x + 7684 * y + 185 * z);
    pixel[2] = shown(tables, 217 * x - 836 * y + 4715 * z);
}
