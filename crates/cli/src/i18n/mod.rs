//! Words for people, in English and Simplified Chinese. Each command keeps its words in a file of its own here.

pub mod dev;
pub mod game;
pub mod play;
pub mod replay;

/// A language of the user interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lang {
    /// English.
    En,
    /// Simplified Chinese.
    Zh,
}

impl Lang {
    /// The language of the environment, as POSIX says: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set.
    pub fn from_env() -> Lang {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(set);
        Lang::of_locale(locale.as_deref().unwrap_or_default())
    }

    /// The language of a locale such as `zh_CN.UTF-8`; English for what is not Chinese.
    pub fn of_locale(locale: &str) -> Lang {
        let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default();
        if language.eq_ignore_ascii_case("zh") {
            Lang::Zh
        } else {
            Lang::En
        }
    }

    /// One of two texts.
    pub fn pick<T>(self, en: T, zh: T) -> T {
        match self {
            Lang::En => en,
            Lang::Zh => zh,
        }
    }
}

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A table without lines.
pub fn plain_table() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_threes() {
        let texts = [0, 7, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn the_locale_names_the_language() {
        for chinese in ["zh", "zh_CN.UTF-8", "zh-CN", "ZH_cn", "zh_TW.Big5", "zh.UTF-8"] {
            assert_eq!(Lang::of_locale(chinese), Lang::Zh, "{chinese}");
        }
        for other in ["", "C", "en_GB.UTF-8", "POSIX", "de_DE@euro", "zha_CN"] {
            assert_eq!(Lang::of_locale(other), Lang::En, "{other}");
        }
    }
}
