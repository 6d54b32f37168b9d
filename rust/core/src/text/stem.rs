//! The light stem of a word, and what is asked of its ending (spec/text.md sections 4 and 5).

use super::prepare::{fold_into, lower_into};

/// The light stem of a folded word: one suffix off while three letters stay, then a final e from four up. It is always a
/// beginning of the word.
#[must_use]
pub fn stem(word: &str) -> &str {
    let cut = ["ing", "ed", "es", "s"]
        .iter()
        .filter_map(|suffix| word.strip_suffix(suffix))
        .find(|rest| has_letters(rest, 3))
        .unwrap_or(word);
    match cut.strip_suffix('e') {
        Some(rest) if has_letters(cut, 4) => rest,
        _ => cut,
    }
}

fn has_letters(text: &str, count: usize) -> bool {
    text.len() >= count && (text.len() >= 4 * count || text.chars().nth(count - 1).is_some())
}

/// Hands over the stem of the folded lower case of a text.
pub(super) fn stem_of_text(text: &str, mut take: impl FnMut(&str)) {
    let mut lowered = String::with_capacity(text.len());
    lower_into(text, &mut lowered);
    if lowered.is_ascii() {
        take(stem(&lowered));
    } else {
        let mut folded = String::with_capacity(text.len());
        fold_into(&lowered, &mut folded);
        take(stem(&folded));
    }
}

/// Whether a word ends in `ing` or `ings`.
#[must_use]
pub fn is_gerund(word: &str) -> bool {
    word.strip_suffix('s').unwrap_or(word).ends_with("ing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stem_keeps_three_letters() {
        for (word, stemmed) in [
            ("staging", "stag"),
            ("databases", "databas"),
            ("uses", "use"),
            ("glass", "glas"),
            ("red", "red"),
            ("thing", "thing"),
            ("string", "str"),
            ("ées", "ées"),
            ("ééées", "ééé"),
            ("éée", "éée"),
            ("", ""),
        ] {
            assert_eq!(stem(word), stemmed, "{word}");
        }
    }
}
