//! Which of many bitmaps differ from one in few enough bits: the inner loop of the join.
//!
//! The loop is written once and compiled for several instruction sets, each with its own way to count bits; which of them
//! runs is decided by what the processor says of itself. This is the one module with unsafe code: it calls functions
//! compiled for instructions that not every processor has, and loads registers from memory.

#![allow(unsafe_code)]
// What is not inlined would not be compiled for the instruction set of its caller.
#![allow(clippy::inline_always)]

use std::ops::Range;

/// How many bitmaps stand side by side. Eight words are a register of the widest kind.
const LANES: usize = 8;

/// How many words of a wide bitmap are compared before it may be given up.
const STRETCH: usize = 8;

/// An instruction set that the loop is compiled for and that this processor has. There is no way to make one but to ask
/// the processor, which is what the unsafe calls rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// What every processor of the architecture has.
    Portable,
    /// Registers of 256 bits; bits are counted by table.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Registers of 512 bits; bits are counted by one instruction.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// Every set that this processor has, the best last.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut all = vec![Self(Set::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("popcnt") {
                all.push(Self(Set::Avx2));
            }
            if has!("avx512f") && has!("avx512vpopcntdq") && has!("popcnt") {
                all.push(Self(Set::Avx512));
            }
        }
        all
    }

    /// The best set that this processor has.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self(Set::Portable))
    }
}

/// Bitmaps, eight side by side: their first words, then their second words, and so on.
#[derive(Debug)]
pub struct Columns {
    /// Words in a bitmap: 2, 4, or a multiple of 8.
    words: usize,
    data: Vec<u64>,
}

impl Columns {
    /// For `count` bitmaps, all empty.
    pub fn new(words: usize, count: usize) -> Self {
        Self { words, data: vec![0; count.div_ceil(LANES) * words * LANES] }
    }

    /// Words in a bitmap.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Sets the bitmap at `position`.
    pub fn set(&mut self, position: usize, bitmap: &[u64]) {
        let at = position / LANES * self.words * LANES + position % LANES;
        for (to, &word) in self.data.iter_mut().skip(at).step_by(LANES).zip(bitmap) {
            *to = word;
        }
    }

    /// Appends to `near` the positions in `range` whose bitmap differs from `probe` in at most `limit` bits.
    pub fn scan(
        &self,
        instructions: Instructions,
        probe: &[u64],
        range: Range<usize>,
        limit: u64,
        near: &mut Vec<usize>,
    ) {
        let scan = Scan { columns: self, probe, range, limit };
        match instructions.0 {
            Set::Portable => match self.words {
                2 => portable::<2>(&scan, near),
                4 => portable::<4>(&scan, near),
                _ => portable::<STRETCH>(&scan, near),
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: such a value is made only where the processor has the features that the three functions are
            // compiled for, avx2 and popcnt.
            Set::Avx2 => unsafe {
                match self.words {
                    2 => x86::avx2::<2>(&scan, near),
                    4 => x86::avx2::<4>(&scan, near),
                    _ => x86::avx2::<STRETCH>(&scan, near),
                }
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; the features are avx512f, avx512vpopcntdq and popcnt.
            Set::Avx512 => unsafe {
                match self.words {
                    2 => x86::avx512::<2>(&scan, near),
                    4 => x86::avx512::<4>(&scan, near),
                    _ => x86::avx512::<STRETCH>(&scan, near),
                }
            },
        }
    }
}

/// What is looked for, and where.
struct Scan<'a> {
    columns: &'a Columns,
    probe: &'a [u64],
    range: Range<usize>,
    limit: u64,
}

/// Some words of eight bitmaps.
type Words<const WORDS: usize> = [[u64; LANES]; WORDS];

impl Scan<'_> {
    /// Goes through the range, eight bitmaps at a time, `WORDS` words at a time. `add` adds the bits that differ to eight
    /// sums, `mask` has a bit for each sum that is within the limit.
    #[inline(always)]
    fn run<const WORDS: usize, Sums: Copy>(
        &self,
        near: &mut Vec<usize>,
        none: Sums,
        add: impl Fn(Sums, &Words<WORDS>, &[u64; WORDS]) -> Sums,
        mask: impl Fn(Sums) -> u8,
    ) {
        let probe = self.probe.as_chunks::<WORDS>().0;
        let words = self.columns.data.as_chunks::<LANES>().0.as_chunks::<WORDS>().0;
        let eights = self.range.start / LANES..self.range.end.div_ceil(LANES);
        if let [probe] = probe {
            for (eight, words) in eights.clone().zip(&words[eights]) {
                self.report(eight, mask(add(none, words, probe)), near);
            }
            return;
        }
        for eight in eights {
            let mut sums = none;
            let mut within = 0;
            for (words, probe) in words[eight * probe.len()..].iter().zip(probe) {
                sums = add(sums, words, probe);
                within = mask(sums);
                if within == 0 {
                    break;
                }
            }
            self.report(eight, within, near);
        }
    }

    #[inline(always)]
    fn report(&self, eight: usize, mut within: u8, near: &mut Vec<usize>) {
        while within != 0 {
            let position = eight * LANES + within.trailing_zeros() as usize;
            if self.range.contains(&position) {
                near.push(position);
            }
            within &= within - 1;
        }
    }
}

fn portable<const WORDS: usize>(scan: &Scan<'_>, near: &mut Vec<usize>) {
    let add = |mut sums: [u64; LANES], words: &Words<WORDS>, probe: &[u64; WORDS]| {
        for (words, &word) in words.iter().zip(probe) {
            for (sum, other) in sums.iter_mut().zip(words) {
                *sum += u64::from((other ^ word).count_ones());
            }
        }
        sums
    };
    let mask = |sums: [u64; LANES]| {
        sums.iter().enumerate().fold(0, |mask, (lane, &sum)| mask | u8::from(sum <= scan.limit) << lane)
    };
    scan.run(near, [0; LANES], add, mask);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_add_epi8, _mm256_add_epi64, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpgt_epi64,
        _mm256_loadu_si256, _mm256_movemask_pd, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_set1_epi64x,
        _mm256_setr_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_xor_si256,
        _mm512_add_epi64, _mm512_cmple_epu64_mask, _mm512_loadu_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_xor_si512,
    };

    use super::{LANES, Scan, Words};

    /// Bits are counted by table, half a byte at a time.
    #[target_feature(enable = "avx2,popcnt")]
    pub fn avx2<const WORDS: usize>(scan: &Scan<'_>, near: &mut Vec<usize>) {
        let table = _mm256_setr_epi8(
            0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
        );
        let low = _mm256_set1_epi8(0x0F);
        let limit = _mm256_set1_epi64x(scan.limit.min(i64::MAX.cast_unsigned()).cast_signed());
        let add = |sums: [__m256i; 2], words: &Words<WORDS>, probe: &[u64; WORDS]| {
            // A byte counts up to eight for each word, and there are at most eight words.
            let mut counts = [_mm256_setzero_si256(); 2];
            for (words, &word) in words.iter().zip(probe) {
                let word = _mm256_set1_epi64x(word.cast_signed());
                for (count, words) in counts.iter_mut().zip(words.as_chunks::<{ LANES / 2 }>().0) {
                    // SAFETY: four words of eight bytes are what is loaded, and they need not be aligned.
                    let words = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
                    let apart = _mm256_xor_si256(words, word);
                    let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(apart, low));
                    let upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(apart), low));
                    *count = _mm256_add_epi8(*count, _mm256_add_epi8(lower, upper));
                }
            }
            let [left, right] = counts.map(|count| _mm256_sad_epu8(count, _mm256_setzero_si256()));
            [_mm256_add_epi64(sums[0], left), _mm256_add_epi64(sums[1], right)]
        };
        let mask = |sums: [__m256i; 2]| {
            let [left, right] = sums.map(|sum| {
                let beyond = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(sum, limit)));
                u8::try_from(beyond).unwrap_or(0)
            });
            !(left | right << (LANES / 2))
        };
        scan.run(near, [_mm256_setzero_si256(); 2], add, mask);
    }

    /// Bits are counted by one instruction.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,popcnt")]
    pub fn avx512<const WORDS: usize>(scan: &Scan<'_>, near: &mut Vec<usize>) {
        let limit = _mm512_set1_epi64(scan.limit.cast_signed());
        let add = |mut sums: __m512i, words: &Words<WORDS>, probe: &[u64; WORDS]| {
            for (words, &word) in words.iter().zip(probe) {
                // SAFETY: eight words of eight bytes are what is loaded, and they need not be aligned.
                let words = unsafe { _mm512_loadu_epi64(words.as_ptr().cast()) };
                let apart = _mm512_xor_si512(words, _mm512_set1_epi64(word.cast_signed()));
                sums = _mm512_add_epi64(sums, _mm512_popcnt_epi64(apart));
            }
            sums
        };
        let mask = |sums| _mm512_cmple_epu64_mask(sums, limit);
        scan.run(near, _mm512_setzero_si512(), add, mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_instruction_sets_say_what_counting_bit_by_bit_says() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        for words in [2, 4, 8, 16, 32, 128] {
            let bitmaps: Vec<Vec<u64>> = (0..67).map(|_| (0..words).map(|_| random() & random()).collect()).collect();
            let mut columns = Columns::new(words, bitmaps.len());
            for (position, bitmap) in bitmaps.iter().enumerate() {
                columns.set(position, bitmap);
            }
            let apart =
                |a: &[u64], b: &[u64]| -> u64 { a.iter().zip(b).map(|(x, y)| u64::from((x ^ y).count_ones())).sum() };
            for range in [0..67, 0..0, 3..5, 8..16, 15..17, 63..67, 66..67] {
                for limit in [0, 20, words as u64 * 22, words as u64 * 24, words as u64 * 26, u64::MAX] {
                    let probe = &bitmaps[5];
                    let expected: Vec<usize> =
                        range.clone().filter(|&at| apart(probe, &bitmaps[at]) <= limit).collect();
                    for instructions in Instructions::available() {
                        let mut near = Vec::new();
                        columns.scan(instructions, probe, range.clone(), limit, &mut near);
                        assert_eq!(near, expected, "{instructions:?} {words} {range:?} {limit}");
                    }
                }
            }
        }
    }
}
