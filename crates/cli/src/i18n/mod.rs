//! Words for people, in English and Simplified Chinese. Each command keeps its words in a file of its own here.

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

#[cfg(test)]
mod tests {
    use super::*;

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
