// Ways to interpolate the colors of a pixel that a Bayer filter hid, as OpenCV has them on the CPU.
// Pixels in the BORDER of a way repeat the nearest one inside.
struct Mosaic {
    const Source* values;  // of one frame
    i32 height, width;
    bool green;  // whether the pixel in row 1, column 1 is green
    bool red;    // whether row 1 has red pixels, not blue ones

    DEVICE i32 operator()(i32 y, i32 x) const { return i32(values[i64(y) * width + x]); }
    DEVICE bool green_at(i32 y, i32 x) const { return green == ((y + x) % 2 == 0); }
    DEVICE bool red_at(i32 y) const { return red == (y % 2 != 0); }
    DEVICE i32 beside(i32 y, i32 x) const { return (*this)(y, x - 1) + (*this)(y, x + 1); }
    DEVICE i32 above(i32 y, i32 x) const { return (*this)(y - 1, x) + (*this)(y + 1, x); }
    DEVICE i32 corners(i32 y, i32 x) const { return beside(y - 1, x) + beside(y + 1, x); }
};

struct Color { i32 red, green, blue; };

// own: of the color that the row has beside green; other: of the third one.
DEVICE Color color_of(const Mosaic& mosaic, i32 y, i32 own, i32 green, i32 other) {
    const bool red = mosaic.red_at(y);
    return Color{red ? own : other, green, red ? other : own};
}

struct Bilinear {
    static constexpr i32 BORDER = 1, CHANNELS = 3;
    DEVICE static void make(const Mosaic& mosaic, i32 y, i32 x, i32* made) {
        Color color;
        if (mosaic.green_at(y, x)) {
            const i32 own = (mosaic.beside(y, x) + 1) >> 1, other = (mosaic.above(y, x) + 1) >> 1;
            color = color_of(mosaic, y, own, mosaic(y, x), other);
        } else {
            const i32 green = (mosaic.beside(y, x) + mosaic.above(y, x) + 2) >> 2;
            color = color_of(mosaic, y, mosaic(y, x), green, (mosaic.corners(y, x) + 2) >> 2);
        }
        made[0] = color.red, made[1] = color.green, made[2] = color.blue;
    }
};

struct EdgeAware {
    static constexpr i32 BORDER = 1, CHANNELS = 3;
    DEVICE static i32 size(i32 value) { return value < 0 ? -value : value; }
    DEVICE static void make(const Mosaic& mosaic, i32 y, i32 x, i32* made) {
        const i32 beside = mosaic.beside(y, x), above = mosaic.above(y, x);
        Color color;
        if (mosaic.green_at(y, x)) {
            color = color_of(mosaic, y, (beside + 1) / 2, mosaic(y, x), (above + 1) / 2);
        } else {
            const i32 across = size(mosaic(y, x - 1) - mosaic(y, x + 1));
            const i32 along = size(mosaic(y + 1, x) - mosaic(y - 1, x));
            const i32 green = ((across > along ? above : beside) + 1) / 2;
            color = color_of(mosaic, y, mosaic(y, x), green, (mosaic.corners(y, x) + 2) / 4);
        }
        made[0] = color.red, made[1] = color.green, made[2] = color.blue;
    }
};

struct Gray {
    static constexpr i32 BORDER = 1, CHANNELS = 1;
    static constexpr u32 RED = 4899, GREEN = 9617, BLUE = 1868;

    DEVICE static void make(const Mosaic& mosaic, i32 y, i32 x, i32* made) {
        const bool red = mosaic.red_at(y);
        const u32 own = red ? RED : BLUE, other = red ? BLUE : RED;
        const u32 here = mosaic(y, x), beside = mosaic.beside(y, x), above = mosaic.above(y, x);
        const u32 corners = mosaic.corners(y, x);
        made[0] = mosaic.green_at(y, x)
            ? (above * other + beside * own + here * 2 * GREEN + (1u << 14)) >> 15
            : (corners * other + (beside + above) * GREEN + here * 4 * own + (1u << 15)) >> 16;
    }
};
