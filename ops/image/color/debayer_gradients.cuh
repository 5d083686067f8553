// The way of variable numbers of gradients: the mean of the directions in which values change least.
// Beyond its borders the mosaic goes on as in a mirror that shows the last pixel once.
struct Mirrored {
    const Mosaic& mosaic;
    DEVICE static i32 inside(i32 at, i32 extent) {
        return at < 0 ? -at : at < extent ? at : 2 * extent - 2 - at;
    }
    DEVICE i32 operator()(i32 y, i32 x) const {
        return mosaic(inside(y, mosaic.height), inside(x, mosaic.width));
    }
    DEVICE i32 beside(i32 y, i32 x) const { return (*this)(y, x - 1) + (*this)(y, x + 1); }
    DEVICE i32 above(i32 y, i32 x) const { return (*this)(y - 1, x) + (*this)(y + 1, x); }
};

struct Gradients {
    static constexpr i32 BORDER = 0, CHANNELS = 3;

    struct Sums { i32 own, green, other, count; };

    DEVICE static i32 apart(i32 one, i32 two) { return one < two ? two - one : one - two; }

    // How values change at a pixel: down, across, and along the two diagonals.
    DEVICE static i32 down(const Mirrored& m, i32 y, i32 x) {
        return apart(m(y - 1, x - 1), m(y + 1, x - 1)) + apart(m(y - 1, x), m(y + 1, x)) * 2 +
               apart(m(y - 1, x + 1), m(y + 1, x + 1));
    }
    DEVICE static i32 across(const Mirrored& m, i32 y, i32 x) {
        return apart(m(y - 1, x - 1), m(y - 1, x + 1)) + apart(m(y, x - 1), m(y, x + 1)) * 2 +
               apart(m(y + 1, x - 1), m(y + 1, x + 1));
    }
    // way: 1 for the diagonal that rises to the right, -1 for the other one.
    DEVICE static i32 diagonal(const Mirrored& m, i32 y, i32 x, i32 way) {
        return apart(m(y - 1, x + way), m(y + 1, x - way)) * 2;
    }
    DEVICE static i32 broad(const Mirrored& m, i32 y, i32 x, i32 way) {
        return diagonal(m, y, x, way) + apart(m(y - 1, x), m(y, x - way)) +
               apart(m(y + 1, x), m(y, x + way));
    }
    // Toward the corner (dy, dx).
    DEVICE static i32 corner(const Mirrored& m, i32 y, i32 x, i32 dy, i32 dx, bool green) {
        const i32 way = dy * dx < 0 ? 1 : -1;
        if (!green) return broad(m, y + dy, x + dx, way) + broad(m, y, x, way);
        return diagonal(m, y, x, way) + diagonal(m, y, x + dx, way) +
               diagonal(m, y + dy, x, way) + diagonal(m, y + dy, x + dx, way);
    }
    DEVICE static void add(Sums& sums, bool taken, i32 own, i32 green, i32 other) {
        if (!taken) return;
        sums.own += own, sums.green += green, sums.other += other, sums.count++;
    }

    DEVICE static void make(const Mosaic& mosaic, i32 y, i32 x, i32* made) {
        if (mosaic.height < 8 || mosaic.width < 8) return Bilinear::make(mosaic, y, x, made);
        const Mirrored m{mosaic};
        const bool green = mosaic.green_at(y, x);
        i32 found[8];
        const i32 dy[4] = {-1, 1, -1, 1}, dx[4] = {1, -1, -1, 1};
        found[0] = down(m, y - 1, x) + down(m, y, x);
        found[1] = down(m, y, x) + down(m, y + 1, x);
        found[2] = across(m, y, x - 1) + across(m, y, x);
        found[3] = across(m, y, x) + across(m, y, x + 1);
        for (i32 k = 0; k < 4; k++) found[4 + k] = corner(m, y, x, dy[k], dx[k], green);
        i32 least = found[0], most = found[0];
        for (i32 k = 1; k < 8; k++) {
            least = found[k] < least ? found[k] : least;
            most = found[k] > most ? found[k] : most;
        }
        const i32 limit = least + (most / 2 > 1 ? most / 2 : 1), here = m(y, x);
        Sums sums{0, 0, 0, 0};
        for (i32 k = 0; k < 2; k++) {
            const i32 d = k ? 1 : -1;
            const i32 far = m(y + 2 * d, x) + here, near = m(y + d, x) * 2, beside = m.beside(y + d, x);
            if (green) add(sums, found[k] < limit, m.beside(y + 2 * d, x), far, near);
            else add(sums, found[k] < limit, far, near, beside);
        }
        for (i32 k = 0; k < 2; k++) {
            const i32 d = k ? 1 : -1;
            const i32 far = m(y, x + 2 * d) + here, near = m(y, x + d) * 2;
            if (green) add(sums, found[2 + k] < limit, near, far, m.above(y, x + 2 * d));
            else add(sums, found[2 + k] < limit, far, near, m.above(y, x + d));
        }
        for (i32 k = 0; k < 4; k++) {
            const i32 v = y + dy[k], u = x + dx[k];
            if (green) {
                add(sums, found[4 + k] < limit, m(y + 2 * dy[k], u) + m(y, u), m(v, u) * 2,
                    m(v, x) + m(v, x + 2 * dx[k]));
            } else {
                add(sums, found[4 + k] < limit, m(y + 2 * dy[k], x + 2 * dx[k]) + here,
                    (m.beside(v, u) + m.above(v, u)) >> 1, m(v, u) * 2);
            }
        }
        const i32 base = green ? sums.green : sums.own;
        // OpenCV makes eight pixels at once, and knows six digits of a fourteenth for the others.
        const i32 start = mosaic.green_at(y, 0), rest = start + (mosaic.width - start) / 8 * 8;
        const bool alone = x < start || x >= rest;
        const f32 scale = alone && sums.count == 7 ? 0.0714286f : 0.5f / f32(sums.count);
        const i32 own = here + i32(rintf(f32(sums.own - base) * scale));
        const i32 middle = here + i32(rintf(f32(sums.green - base) * scale));
        const i32 other = here + i32(rintf(f32(sums.other - base) * scale));
        const Color color = color_of(mosaic, y, own, middle, other);
        made[0] = color.red, made[1] = color.green, made[2] = color.blue;
    }
};
