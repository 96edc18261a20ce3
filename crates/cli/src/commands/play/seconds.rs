//! Lengths of time on the command line.

use std::time::Duration;

/// Reads `30s`, `500ms`, `10m`, `2h`; a number alone is seconds.
///
/// # Errors
///
/// What is expected.
pub fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| expected())?;
    let ms = match unit {
        "ms" => Some(number),
        "" | "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60 * 1_000),
        "h" => number.checked_mul(60 * 60 * 1_000),
        _ => None,
    };
    ms.map(Duration::from_millis).ok_or_else(expected)
}

fn expected() -> String {
    "expected a time such as 30s, 500ms, 10m or 1h".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_nonsense_is_not() {
        assert_eq!(parse("30"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse("1h"), Ok(Duration::from_secs(3_600)));
        for nonsense in [
            "",
            "s",
            "-1",
            "1.5s",
            "3 s",
            "1d",
            "99999999999999999999",
            "18446744073709551615h",
        ] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
