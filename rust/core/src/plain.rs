//! Whether bytes are the canonical bytes of a live record, told without building anything (spec/kernel.md, Plain records).
//!
//! A store that hands out bytes checks them first, for anybody may have written them. Nearly all are what the store itself
//! wrote; this tells those apart in one pass. Whatever is unusual is not plain, and the caller reads it the long way.

use std::ops::Range;

use crate::digest::hex_digest;
use crate::normal::nfc;
use crate::sink::MAX_DEPTH;

/// The fields every record is written with, sorted; a tombstone has further ones and is not plain.
const WRITTEN: [&[u8]; 19] = [
    b"body",
    b"confidence",
    b"created_at",
    b"evidence",
    b"flag_reason",
    b"flagged",
    b"id",
    b"provenance",
    b"signature",
    b"signed_by",
    b"slots",
    b"state",
    b"state_reason",
    b"superseded_by",
    b"supersedes",
    b"tags",
    b"transition",
    b"type",
    b"updated_at",
];
/// Those the id is made of.
const BIRTH: [&[u8]; 5] = [b"body", b"created_at", b"provenance", b"slots", b"type"];

/// The longest integer that is looked at here.
const LONGEST_NUMBER: usize = 18;

/// The wire time of birth, when `data` is the canonical spelling of a record that is no tombstone, has every field, and
/// whose birth content has the address `id`.
#[must_use]
pub fn plain_record<'a>(data: &'a [u8], id: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(data).ok()?;
    let mut reader = Reader { data, at: 0 };
    let mut fields: Vec<(&[u8], Range<usize>)> = Vec::with_capacity(20);
    reader.members(0, &mut |name, value| fields.push((name, value)))?;
    if reader.at != data.len() {
        return None;
    }
    let field = |name: &[u8]| {
        let found = fields.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        fields.get(found).map(|(_, value)| value.clone())
    };
    if field(b"redacted").is_some() || !WRITTEN.iter().all(|name| field(name).is_some()) {
        return None;
    }
    let named = data.get(field(b"id")?)?;
    if named.len() != id.len() + 2 || named.get(1..=id.len())? != id.as_bytes() {
        return None;
    }
    let mut birth = Vec::with_capacity(data.len());
    for name in BIRTH {
        birth.push(if birth.is_empty() { b'{' } else { b',' });
        birth.push(b'"');
        birth.extend_from_slice(name);
        birth.extend_from_slice(b"\":");
        birth.extend_from_slice(data.get(field(name)?)?);
    }
    birth.push(b'}');
    if hex_digest(&birth).get(..32)? != id.strip_prefix("mem:")? {
        return None;
    }
    let born = text.get(field(b"created_at")?)?.strip_prefix('"')?.strip_suffix('"')?;
    (!born.contains('\\')).then_some(born)
}

/// Reads canonical JSON, and nothing else. Every method gives None for what is not, or is better read elsewhere.
struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.data.get(self.at)? {
            b'"' => self.text().map(|_| ()),
            b'{' => self.members(depth, &mut |_, _| ()),
            b'[' => self.items(depth),
            b'n' => self.word(b"null"),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.data.get(self.at..)?.starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        let negative = self.word(b"-").is_some();
        let digits = self.data.get(self.at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let leading_zero = self.data.get(self.at) == Some(&b'0');
        if digits == 0 || digits > LONGEST_NUMBER || leading_zero && (digits > 1 || negative) {
            return None;
        }
        self.at += digits;
        Some(())
    }

    fn items(&mut self, depth: usize) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.at += 1;
        if self.word(b"]").is_some() {
            return Some(());
        }
        loop {
            self.value(depth + 1)?;
            if self.word(b"]").is_some() {
                return Some(());
            }
            self.word(b",")?;
        }
    }

    /// An object; `take` is told each name, as it is written, and where its value stands.
    fn members(&mut self, depth: usize, take: &mut dyn FnMut(&'a [u8], Range<usize>)) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.word(b"{")?;
        if self.word(b"}").is_some() {
            return Some(());
        }
        let mut before: Option<&[u8]> = None;
        loop {
            let name = self.text()?;
            // The order of names is that of what they say, which is the order of their bytes unless one is escaped.
            if name.contains(&b'\\') || before.is_some_and(|before| before >= name) {
                return None;
            }
            before = Some(name);
            self.word(b":")?;
            let start = self.at;
            self.value(depth + 1)?;
            take(name, start..self.at);
            if self.word(b"}").is_some() {
                return Some(());
            }
            self.word(b",")?;
        }
    }

    /// A text, as it is written between its quotes.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.word(b"\"")?;
        let start = self.at;
        let mut ascii = true;
        loop {
            match *self.data.get(self.at)? {
                b'"' => break,
                b'\\' => self.escape()?,
                ..0x20 => return None,
                byte => {
                    ascii &= byte.is_ascii();
                    self.at += 1;
                }
            }
        }
        let written = self.data.get(start..self.at)?;
        self.at += 1;
        // Of an escape the last character may compose with what follows, what it stands for never does: text that is normal
        // as it is written is normal.
        (ascii || is_normal(std::str::from_utf8(written).ok()?)).then_some(written)
    }

    /// An escape that canonical JSON has: a short one, or that of a control character without a short one.
    fn escape(&mut self) -> Option<()> {
        let length = match self.data.get(self.at + 1)? {
            b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f' => 2,
            b'u' => {
                let hex = self.data.get(self.at + 2..self.at + 6)?;
                let plain = hex.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                let code = u32::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?;
                if !plain || code >= 0x20 || matches!(code, 0x08 | 0x09 | 0x0A | 0x0C | 0x0D) {
                    return None;
                }
                6
            }
            _ => return None,
        };
        self.at += length;
        Some(())
    }
}

fn is_normal(text: &str) -> bool {
    nfc(text) == text
}
