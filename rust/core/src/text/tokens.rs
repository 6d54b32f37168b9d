//! One token at a place: the expression of spec/text.md section 3.3, alternative by alternative.

use super::letters::{at, before, is_content, is_wordy, run};

/// What the expression finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Characters of a script without spaces.
    Run,
    /// A word or number.
    Word,
    /// A symbol, `=` or `+`.
    Symbol,
    /// Question marks.
    Query,
    /// Stars.
    Stars,
    /// Exclamation marks after something.
    Bang,
    /// Punctuation that is glued to something.
    Mark,
}

/// What stands at `place`, and where it ends; nothing when no token begins there.
#[must_use]
pub fn find(classes: &[u8], place: usize) -> Option<(Found, usize)> {
    match classes[place] {
        b'u' => Some((Found::Run, run(classes, place, |class| class == b'u'))),
        b'a' | b'0' => Some((Found::Word, word_end(classes, place))),
        b'-' | b'.' | b'+' => find_word(classes, place)
            .map(|end| (Found::Word, end))
            .or_else(|| (classes[place] == b'+').then_some((Found::Symbol, place + 1)))
            .or_else(|| find_mark(classes, place).map(|end| (Found::Mark, end))),
        b's' | b'=' => Some((Found::Symbol, place + 1)),
        b'?' => Some((Found::Query, run(classes, place, |class| matches!(class, b'?' | b'!')))),
        b'*' => Some((Found::Stars, run(classes, place, |class| class == b'*'))),
        b'!' => find_bang(classes, place)
            .map(|end| (Found::Bang, end))
            .or_else(|| find_mark(classes, place).map(|end| (Found::Mark, end))),
        _ => find_mark(classes, place).map(|end| (Found::Mark, end)),
    }
}

/// A word that begins with a sign or a point: -5, +.5, .net
fn find_word(classes: &[u8], place: usize) -> Option<usize> {
    let previous = before(classes, place);
    let number = at(classes, place + 1) == b'0' || (at(classes, place + 1) == b'.' && at(classes, place + 2) == b'0');
    let start = match classes[place] {
        b'-' if !is_content(previous) && !matches!(previous, b')' | b'-') && number => place + 1,
        b'+' if number => place + 1,
        b'.' if !is_content(previous) && !matches!(previous, b')' | b'.') && is_wordy(at(classes, place + 1)) => place,
        _ => return None,
    };
    Some(word_end(classes, if classes[start] == b'.' { start + 1 } else { start }))
}

/// Letters and digits; `.` `,` `:` between digits; an attached `++`, `+` or `#`.
fn word_end(classes: &[u8], start: usize) -> usize {
    let mut end = run(classes, start, is_wordy);
    while matches!(at(classes, end), b'.' | b',' | b':') && before(classes, end) == b'0' && at(classes, end + 1) == b'0'
    {
        end = run(classes, end + 1, is_wordy);
    }
    let (first, second) = (at(classes, end), at(classes, end + 1));
    if first == b'+' && second == b'+' {
        end + 2
    } else if matches!(first, b'+' | b'#') && !is_content(second) && !matches!(second, b'+' | b'#') {
        end + 1
    } else {
        end
    }
}

fn find_bang(classes: &[u8], place: usize) -> Option<usize> {
    let previous = before(classes, place);
    let glued = is_wordy(previous)
        || matches!(previous, b'_' | b'*' | b'#' | b's' | b'+' | b'=' | b'/' | b'\\' | b'@' | b'&' | b'g');
    if !glued {
        return None;
    }
    let end = run(classes, place, |class| class == b'!');
    let next = at(classes, end);
    (next != b'=' && !is_content(next)).then_some(end)
}

fn find_mark(classes: &[u8], place: usize) -> Option<usize> {
    let class = classes[place];
    let previous = before(classes, place);
    match class {
        // A series that says nothing from its first character on says nothing from a later one.
        b'#' | b'_' | b'g' | b'!' if class == previous => None,
        b'/' | b'\\' | b'@' | b'&' | b'b' => Some(place + 1),
        b'#' | b'_' | b'g' => {
            let end = run(classes, place, |other| other == class);
            (is_content(at(classes, end)) || is_content(previous)).then_some(end)
        }
        b'-' => find_dash(classes, place),
        b'.' | b',' | b':' | b';' => find_points(classes, place),
        b'!' => {
            let end = run(classes, place, |other| other == b'!');
            let next = at(classes, end);
            (next == b'=' || is_content(next)).then_some(end)
        }
        b'x' => (previous == b'0' && at(classes, place + 1) == b'0').then_some(place + 1),
        _ => None,
    }
}

fn find_dash(classes: &[u8], place: usize) -> Option<usize> {
    let previous = before(classes, place);
    let next = at(classes, place + 1);
    let spaces = run(classes, place + 1, |class| class == b' ');
    let digit = if at(classes, spaces) == b'.' { spaces + 1 } else { spaces };
    if at(classes, digit) == b'0' {
        return Some(place + 1); // a sign inside a line
    }
    if previous == b'-' {
        return None;
    }
    let end = run(classes, place, |class| class == b'-');
    if !is_content(previous) && is_content(at(classes, end)) {
        return Some(end); // -v, --all
    }
    if is_content(previous) && end > place + 1 {
        return Some(end); // i--
    }
    let hangs = is_content(previous) && !is_content(next); // A-
    let range = previous == b'0' && matches!(next, b'a' | b'u'); // 5-fold
    (hangs || range).then_some(place + 1)
}

fn find_points(classes: &[u8], place: usize) -> Option<usize> {
    let class = classes[place];
    let previous = before(classes, place);
    let next = at(classes, place + 1);
    if is_wordy(previous) {
        let end = run(classes, place, |other| matches!(other, b'.' | b',' | b':' | b';'));
        if is_wordy(at(classes, end)) {
            return Some(end);
        }
    }
    if is_content(previous) && matches!(class, b'.' | b':') {
        let end = run(classes, place, |other| matches!(other, b'.' | b':'));
        if is_content(at(classes, end)) {
            return Some(end);
        }
    }
    if class == b':' && matches!(previous, 0 | b' ' | b'\n') && is_wordy(next) {
        return Some(place + 1); // :ok
    }
    if matches!(class, b':' | b';') && !is_content(previous) {
        let mouth = if next == b'-' { place + 2 } else { place + 1 };
        if matches!(at(classes, mouth), b'(' | b')') {
            return Some(mouth + 1); // :-)
        }
    }
    if class == b'.' && !is_content(previous) && previous != b'.' {
        let end = if next == b'.' { place + 2 } else { place + 1 };
        if matches!(at(classes, end), b'/' | b'\\') {
            return Some(end); // ./x ../x
        }
    }
    let parent = class == b'.' && matches!(previous, b' ' | b'/' | b'\\');
    (parent && next == b'.' && at(classes, place + 2) != b'.').then_some(place + 2) // cd ..
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alternative_finds_what_it_is_for() {
        for (classes, place, found) in [
            ("a0.0.0 ", 0, Some((Found::Word, 6))),
            ("-0", 0, Some((Found::Word, 2))),
            ("a-0", 1, Some((Found::Mark, 2))),
            (" - 0", 1, Some((Found::Mark, 2))),
            ("+.0", 0, Some((Found::Word, 3))),
            (".aaa", 0, Some((Found::Word, 4))),
            ("a++", 0, Some((Found::Word, 3))),
            ("a+a", 0, Some((Found::Word, 1))),
            ("a# ", 0, Some((Found::Word, 2))),
            ("a##", 1, Some((Found::Mark, 3))),
            ("?!?", 0, Some((Found::Query, 3))),
            ("a!! ", 1, Some((Found::Bang, 3))),
            ("a!=", 1, Some((Found::Mark, 2))),
            (" ! ", 1, None),
            ("a-a", 1, None),
            ("a--a", 1, Some((Found::Mark, 3))),
            ("--a", 0, Some((Found::Mark, 2))),
            ("a- ", 1, Some((Found::Mark, 2))),
            (" .. ", 1, Some((Found::Mark, 3))),
            (" ...", 1, None),
            (":-)", 0, Some((Found::Mark, 3))),
            ("a. ", 1, None),
            ("0x0", 1, Some((Found::Mark, 2))),
        ] {
            assert_eq!(find(classes.as_bytes(), place), found, "{classes} at {place}");
        }
    }
}
