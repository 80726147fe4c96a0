//! Powers of ten as 128 bits and a power of two, from which both ways between text and numbers go.

/// The least exponent of ten that the table has.
pub(super) const LEAST: i32 = -342;

/// The largest exponent of ten that the table has.
pub(super) const MOST: i32 = 325;

const LEN: usize = (MOST - LEAST + 1) as usize;

/// For each exponent `q` the 128 most significant bits of `5^q`, rounded down, the upper half
/// first: `10^q` is `5^q` times a power of two.
static POWERS: [(u64, u64); LEN] = powers();

/// The 128 most significant bits of `10^q`, rounded down, the upper half first.
#[inline]
pub(super) fn power(q: i32) -> (u64, u64) {
    POWERS[(q - LEAST) as usize]
}

/// Whether the bits of `10^q` are all that it has; 5^55 is the last power below 2^128.
#[inline]
pub(super) fn is_exact(q: i32) -> bool {
    (0..=55).contains(&q)
}

/// Words of 64 bits of a large number: more than 5^342 has, by the 128 that are wanted.
const WORDS: usize = 16;

const fn powers() -> [(u64, u64); LEN] {
    let mut table = [(0, 0); LEN];
    // 5^0, 5^1, ... exactly, the lowest word first.
    let mut number = [0; WORDS];
    number[0] = 1;
    let mut q = 0;
    while q <= MOST {
        table[(q - LEAST) as usize] = top(&number);
        number = times_five(&number);
        q += 1;
    }
    // 2^1023 / 5^n, rounded down each time, which is what rounding down once gives.
    let mut number = [0; WORDS];
    number[WORDS - 1] = 1 << 63;
    let mut q = -1;
    while q >= LEAST {
        number = fifth(&number);
        table[(q - LEAST) as usize] = top(&number);
        q -= 1;
    }
    table
}

const fn times_five(number: &[u64; WORDS]) -> [u64; WORDS] {
    let mut product = [0; WORDS];
    let mut carry = 0;
    let mut word = 0;
    while word < WORDS {
        let wide = number[word] as u128 * 5 + carry;
        product[word] = wide as u64;
        carry = wide >> 64;
        word += 1;
    }
    product
}

const fn fifth(number: &[u64; WORDS]) -> [u64; WORDS] {
    let mut quotient = [0; WORDS];
    let mut rest = 0;
    let mut word = WORDS;
    while word > 0 {
        word -= 1;
        let wide = (rest << 64) | number[word] as u128;
        quotient[word] = (wide / 5) as u64;
        rest = wide % 5;
    }
    quotient
}

/// The 128 bits from the highest one that is set.
const fn top(number: &[u64; WORDS]) -> (u64, u64) {
    let mut word = WORDS - 1;
    while number[word] == 0 {
        word -= 1;
    }
    let first = number[word];
    let second = if word >= 1 { number[word - 1] } else { 0 };
    let third = if word >= 2 { number[word - 2] } else { 0 };
    let shift = first.leading_zeros();
    if shift == 0 {
        return (first, second);
    }
    (
        first << shift | second >> (64 - shift),
        second << shift | third >> (64 - shift),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_literature() {
        // Lemire's table, but for the power that he rounds up; Giulietti's rounds all of them up.
        for (q, bits) in [
            (-342, (0xeef4_53d6_923b_d65a, 0x113f_aa29_06a1_3b3f)),
            (-292, (0xff77_b1fc_bebc_dc4f, 0x25e8_e89c_13bb_0f7a)),
            (-1, (0xcccc_cccc_cccc_cccc, 0xcccc_cccc_cccc_cccc)),
            (0, (1 << 63, 0)),
            (1, (0xa000_0000_0000_0000, 0)),
            (55, (0xd0cf_4b50_cfe2_0765, 0xfff4_b4e3_f741_cf6d)),
            (308, (0x8e67_9c2f_5e44_ff8f, 0x570f_09ea_a7ea_7648)),
        ] {
            assert_eq!(power(q), bits, "{q}");
        }
        // Rounding one up does not carry.
        assert!((LEAST..=MOST).all(|q| power(q).1 < u64::MAX));
    }
}
