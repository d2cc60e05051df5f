//! How little a value looks like words: its entropy.

/// Shannon's entropy of the bytes, bits a byte: 0 for one byte repeated, 4 for hexadecimal digits, 6 for base64.
pub(crate) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    // A value has at most a few hundred bytes: nothing is lost here.
    let all = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    shares.map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_bits_a_byte() {
        assert!(entropy(b"").abs() < 1e-9 && entropy(b"aaaa").abs() < 1e-9);
        assert!((entropy(b"0123456789abcdef") - 4.0).abs() < 1e-9);
    }
}
