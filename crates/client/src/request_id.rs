//! Request ids.

/// Draws a request id: 16 characters, 80 bits. One is drawn for each call and kept over its retries (S-25).
#[must_use]
pub fn request_id() -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut drawn = rand::random::<u128>();
    (0..16)
        .map(|_| {
            let digit = DIGITS[(drawn & 31) as usize];
            drawn >>= 5;
            char::from(digit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_short_and_do_not_repeat() {
        let ids: HashSet<String> = (0..10_000).map(|_| request_id()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == 16 && id.is_ascii()));
    }
}
