// Philox-4x32-10, as `philox` in eager/random/philox.py: equal words for equal counters.
struct Words { u32 word[4]; };

DEVICE Words philox(u32 block, u32 number, u64 position, u64 seed) {
    u32 c0 = block, c1 = number, c2 = u32(position), c3 = u32(position >> 32);
    u32 k0 = u32(seed), k1 = u32(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const u64 p0 = u64(0xD2511F53u) * c0, p1 = u64(0xCD9E8D57u) * c2;
        c0 = u32(p1 >> 32) ^ c1 ^ k0;
        c1 = u32(p1);
        c2 = u32(p0 >> 32) ^ c3 ^ k1;
        c3 = u32(p0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return Words{{c0, c1, c2, c3}};
}
