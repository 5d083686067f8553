// Whether the word is below the parameter.
DEVICE i32 drawn(u32 word, const u64* threshold, i64) { return u64(word) < threshold[0]; }
