//! Text as it stands in JSON: normalised, then escaped, in quotes.

use std::borrow::Cow;

use crate::normal::nfc;

/// Appends the normal form of the text in quotes, and gives it back.
pub fn push_normal<'a>(out: &mut Vec<u8>, text: &'a str) -> Cow<'a, str> {
    if is_simple(text.as_bytes()) {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return Cow::Borrowed(text);
    }
    let text = nfc(text);
    push_text(out, &text);
    text
}

/// Whether all is ASCII that stands for itself in JSON: neither normalising nor escaping has anything to do then. Eight
/// bytes at a time, each test setting the top bit of a byte it finds.
fn is_simple(text: &[u8]) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    let found = |eight: u64| {
        let below = |byte: u8, eight: u64| eight.wrapping_sub(ONES * u64::from(byte)) & !eight;
        eight
            | below(0x20, eight)
            | below(1, eight ^ (ONES * u64::from(b'"')))
            | below(1, eight ^ (ONES * u64::from(b'\\')))
    };
    let (eights, rest) = text.as_chunks::<8>();
    let all = eights.iter().fold(0, |all, eight| all | found(u64::from_le_bytes(*eight)));
    all & TOPS == 0 && rest.iter().all(|&byte| byte.is_ascii() && !needs_escape(byte))
}

/// The text in quotes, escaped as JSON needs and no further: everything else stands for itself in UTF-8.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().any(needs_escape) {
        push_escaped(out, text.as_bytes());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0C => b'f',
            ..0x20 => {
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                continue;
            }
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_text_is_told_from_what_needs_work_at_every_place() {
        for length in 0..40 {
            let text = vec![b'a'; length];
            assert!(is_simple(&text));
            for place in 0..length {
                for byte in 0..=255 {
                    let mut text = text.clone();
                    text[place] = byte;
                    assert_eq!(is_simple(&text), byte.is_ascii() && !needs_escape(byte), "{byte:#x}");
                }
            }
        }
    }
}
