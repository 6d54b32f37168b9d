//! Text without spaces between words: its negators and its terms (spec/text.md section 4).

use super::words::{RUN_KEPT, RUN_NEGATORS};

/// Hands over the terms of a folded run, the pairs of neighbours among what is no negator; true when there was one.
pub fn terms(run: &str, mut take: impl FnMut(&str)) -> bool {
    let mut rest = String::with_capacity(run.len());
    let mut negated = false;
    let mut at = 0;
    while let Some(c) = run[at..].chars().next() {
        let tail = &run[at..];
        let starts = |word: &&&str| tail.starts_with(**word);
        if !may_begin(c) {
            rest.push(c);
            at += c.len_utf8();
        } else if let Some(kept) = RUN_KEPT.iter().find(starts) {
            rest.push_str(kept);
            at += kept.len();
        } else if let Some(negator) = RUN_NEGATORS.iter().find(starts) {
            negated = true;
            at += negator.len();
        } else {
            rest.push(c);
            at += c.len_utf8();
        }
    }
    let mut places = rest.char_indices().map(|(place, _)| place).chain([rest.len()]);
    let (mut first, mut second) = (places.next().unwrap_or(0), places.next().unwrap_or(0));
    let mut alone = second > 0;
    for third in places {
        take(&rest[first..third]);
        (first, second) = (second, third);
        alone = false;
    }
    if alone {
        take(&rest[first..second]);
    }
    negated
}

/// Whether one of the listed words begins with this character; most characters of a run begin none.
fn may_begin(c: char) -> bool {
    matches!(c, '差' | '不' | '未' | '无' | '無' | '少' | 'す' | '没' | '沒' | '勿' | '并' | '並' | 'ま' | 'な' | 'ไ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(run: &str) -> (Vec<String>, bool) {
        let mut found = Vec::new();
        let negated = terms(run, |term| found.push(term.to_owned()));
        (found, negated)
    }

    #[test]
    fn what_a_word_may_begin_with_is_complete() {
        assert!(RUN_KEPT.iter().chain(RUN_NEGATORS).all(|word| word.chars().next().is_some_and(may_begin)));
    }

    #[test]
    fn negators_are_dropped_and_look_alikes_kept() {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(all("服务不使用"), (texts(&["服务", "务使", "使用"]), true));
        assert_eq!(all("未来"), (texts(&["未来"]), false));
        assert_eq!(all("不"), (texts(&[]), true));
        assert_eq!(all("不用"), (texts(&["用"]), true));
        assert_eq!(all("用"), (texts(&["用"]), false));
    }
}
