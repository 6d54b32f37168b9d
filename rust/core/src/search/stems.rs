//! Stems: Snowball where it has a script, and the first letters outside Latin script (spec/recall.md section 3.4).

use std::borrow::Cow;

use frostem::{Algorithm, Stemmer};

use super::fold::strip;

/// How many characters of a longer stem outside Latin script are a term too.
const PREFIX: usize = 4;

/// The languages that can be chosen for words in Latin script, besides `none`.
const LANGUAGES: &[(&str, Algorithm)] = &[
    ("basque", Algorithm::Basque),
    ("catalan", Algorithm::Catalan),
    ("czech", Algorithm::Czech),
    ("danish", Algorithm::Danish),
    ("dutch", Algorithm::Dutch),
    ("english", Algorithm::English),
    ("esperanto", Algorithm::Esperanto),
    ("estonian", Algorithm::Estonian),
    ("finnish", Algorithm::Finnish),
    ("french", Algorithm::French),
    ("german", Algorithm::German),
    ("hungarian", Algorithm::Hungarian),
    ("indonesian", Algorithm::Indonesian),
    ("irish", Algorithm::Irish),
    ("italian", Algorithm::Italian),
    ("lithuanian", Algorithm::Lithuanian),
    ("norwegian", Algorithm::Norwegian),
    ("polish", Algorithm::Polish),
    ("porter", Algorithm::Porter),
    ("portuguese", Algorithm::Portuguese),
    ("romanian", Algorithm::Romanian),
    ("spanish", Algorithm::Spanish),
    ("swedish", Algorithm::Swedish),
    ("turkish", Algorithm::Turkish),
];

/// Whose stems words in Latin script get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(Option<(&'static str, Algorithm)>);

impl Language {
    /// English, the default.
    pub const ENGLISH: Self = Self(Some(("english", Algorithm::English)));
    /// Words of any script stay as they are.
    pub const NONE: Self = Self(None);

    /// The language of that name; nothing for a name that has no stemmer here.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == "none" {
            return Some(Self::NONE);
        }
        LANGUAGES.iter().find(|known| known.0 == name).map(|known| Self(Some(*known)))
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.map_or("none", |language| language.0)
    }

    /// Whether it has the stop words of English, and words without marks.
    #[must_use]
    pub fn is_english(self) -> bool {
        matches!(self.0, Some((_, Algorithm::English | Algorithm::Porter)))
    }

    /// Calls `found` with each term of a folded word: its stem without marks, and outside Latin script the beginning of a
    /// longer one. `bare` is the word without its marks.
    pub fn terms(self, word: &str, bare: &str, mut found: impl FnMut(&str)) {
        let Some((_, algorithm)) = self.0 else { return found(bare) };
        let first = word.chars().next().unwrap_or(' ');
        if is_latin(first) {
            if self.is_english() {
                return found(&Stemmer::new(algorithm).stem(bare));
            }
            return found(&strip(&Stemmer::new(algorithm).stem(word)));
        }
        let stem = match of_script(first) {
            Some(algorithm) => Cow::Owned(strip(&Stemmer::new(algorithm).stem(word)).into_owned()),
            None => Cow::Borrowed(bare),
        };
        found(&stem);
        if let Some((end, _)) = stem.char_indices().nth(PREFIX) {
            found(&stem[..end]);
        }
    }
}

/// Latin script and digits.
fn is_latin(first: char) -> bool {
    matches!(first, '\0'..='\u{36F}' | '\u{1E00}'..='\u{1EFF}' | '\u{2C60}'..='\u{2C7F}' | '\u{A720}'..='\u{A7FF}'
        | '\u{AB30}'..='\u{AB64}')
}

/// The algorithm of another script.
fn of_script(first: char) -> Option<Algorithm> {
    Some(match first {
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => Algorithm::Greek,
        '\u{400}'..='\u{52F}' => Algorithm::Russian,
        '\u{531}'..='\u{587}' => Algorithm::Armenian,
        '\u{620}'..='\u{6FF}' | '\u{750}'..='\u{77F}' => Algorithm::Arabic,
        '\u{900}'..='\u{97F}' => Algorithm::Hindi,
        '\u{B80}'..='\u{BFF}' => Algorithm::Tamil,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(language: &str, word: &str) -> Vec<String> {
        let mut all = Vec::new();
        Language::named(language).unwrap().terms(word, &strip(word), |term| all.push(term.to_string()));
        all
    }

    #[test]
    fn inflected_words_meet() {
        assert_eq!(terms("english", "running"), ["run"]);
        assert_eq!(terms("english", "résumés"), terms("english", "resume"));
        assert_eq!(terms("german", "häuser"), terms("german", "haus"));
        assert_eq!(terms("english", "работает")[1], terms("english", "работа")[1]);
        assert_eq!(terms("english", "თბილისში")[1], "თბილ");
        assert_eq!(terms("none", "работает"), ["работает"]);
    }

    #[test]
    fn languages_have_names() {
        assert_eq!(Language::named("porter").map(Language::name), Some("porter"));
        assert_eq!((Language::named("none"), Language::named("latin")), (Some(Language::NONE), None));
        assert!(LANGUAGES.iter().all(|(name, algorithm)| *name == algorithm.name()));
    }
}
