//! Reading JSON without building it: what is wanted is lent, the rest is passed over.
//!
//! The bytes are those a store has checked, and are trusted with nothing all the same: any bytes at all are read or refused,
//! in memory and time that grow with their length only.

use std::borrow::Cow;

use crate::sink::MAX_DEPTH;

/// Bytes that are no JSON, or not of the shape asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What reading gives.
pub type Read<T> = Result<T, Malformed>;

/// A place in a JSON text. Objects with a key twice, numbers with a fraction, lone surrogates and values inside more than
/// 256 containers are malformed, wherever they are.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The keys of the objects around this place, outermost first.
    keys: Vec<Cow<'a, str>>,
}

impl<'a> Reader<'a> {
    /// The beginning of a text.
    pub fn new(bytes: &'a [u8]) -> Read<Self> {
        let text = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
        Ok(Self { text, at: 0, depth: 0, keys: Vec::with_capacity(32) })
    }

    /// Nothing but white space may follow.
    pub fn end(&mut self) -> Read<()> {
        if self.peek().is_none() { Ok(()) } else { Err(Malformed) }
    }

    /// Reads an object; `member` is called with each key and has to read its value.
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Read<()>) -> Read<()> {
        let outer = self.keys.len();
        self.open(b'{')?;
        if !self.take(b'}') {
            loop {
                self.white();
                let key = self.string()?;
                self.expect(b':')?;
                self.keys.push(key.clone());
                member(self, key)?;
                if self.take(b'}') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        self.depth -= 1;
        let ascending = self.keys[outer..].windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending {
            let keys = &mut self.keys[outer..];
            keys.sort_unstable();
            if keys.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Malformed);
            }
        }
        self.keys.truncate(outer);
        Ok(())
    }

    /// Reads an array; `item` is called for each item and has to read it.
    pub fn array(&mut self, mut item: impl FnMut(&mut Self) -> Read<()>) -> Read<()> {
        self.open(b'[')?;
        if !self.take(b']') {
            loop {
                item(self)?;
                if self.take(b']') {
                    break;
                }
                self.expect(b',')?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Reads a string, or `null` as nothing.
    pub fn optional_text(&mut self) -> Read<Option<Cow<'a, str>>> {
        if self.peek() == Some(b'n') { self.word("null").map(|()| None) } else { self.text().map(Some) }
    }

    /// Reads a string.
    pub fn text(&mut self) -> Read<Cow<'a, str>> {
        self.white();
        self.string()
    }

    /// What the next value begins with.
    pub fn peek(&mut self) -> Option<u8> {
        self.white();
        self.byte()
    }

    /// Reads a value of any kind and forgets it.
    pub fn skip(&mut self) -> Read<()> {
        match self.peek() {
            Some(b'{') => self.object(|reader, _| reader.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => self.integer(),
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn white(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.take(byte) { Ok(()) } else { Err(Malformed) }
    }

    fn open(&mut self, byte: u8) -> Read<()> {
        self.expect(byte)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Malformed) } else { Ok(()) }
    }

    fn word(&mut self, word: &str) -> Read<()> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            Err(Malformed)
        }
    }

    /// An integer of any length. A fraction or exponent is no part of it, and nothing else may follow it either.
    fn integer(&mut self) -> Read<()> {
        self.at += usize::from(self.byte() == Some(b'-'));
        let first = self.byte();
        let digits = self.text.as_bytes()[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        if digits == 0 || (digits > 1 && first == Some(b'0')) { Err(Malformed) } else { Ok(()) }
    }

    /// A string, at its quotation mark.
    fn string(&mut self) -> Read<Cow<'a, str>> {
        if self.byte() != Some(b'"') {
            return Err(Malformed);
        }
        self.at += 1;
        let text: &'a str = self.text;
        let start = self.at;
        self.plain();
        let lent = &text[start..self.at];
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(lent));
        }
        let mut owned = String::from(lent);
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(owned));
                }
                Some(b'\\') => owned.push(self.escape()?),
                _ => return Err(Malformed),
            }
            let start = self.at;
            self.plain();
            owned.push_str(&text[start..self.at]);
        }
    }

    /// Goes on to the next character of a string that does not stand for itself.
    fn plain(&mut self) {
        const AT_ONCE: usize = 16;
        let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        let rest = &self.text.as_bytes()[self.at..];
        // Without an early exit the inner loop becomes a few vector instructions.
        let clean = |chunk: &&[u8]| !chunk.iter().fold(false, |found, byte| found | special(byte));
        let far = AT_ONCE * rest.chunks_exact(AT_ONCE).take_while(clean).count();
        let near = rest[far..].iter().position(special).unwrap_or(rest.len() - far);
        self.at += far + near;
    }

    fn escape(&mut self) -> Read<char> {
        self.at += 1;
        let escaped = self.byte().ok_or(Malformed)?;
        self.at += 1;
        Ok(match escaped {
            b'"' | b'\\' | b'/' => char::from(escaped),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.code_point(),
            _ => return Err(Malformed),
        })
    }

    fn code_point(&mut self) -> Read<char> {
        let first = self.unit()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or(Malformed);
        }
        self.word("\\u")?;
        let second = self.unit()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(Malformed);
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(Malformed)
    }

    fn unit(&mut self) -> Read<u32> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or(Malformed)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| Ok((unit << 4) | char::from(*digit).to_digit(16).ok_or(Malformed)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skips(text: &str) -> bool {
        Reader::new(text.as_bytes()).is_ok_and(|mut reader| reader.skip().and_then(|()| reader.end()).is_ok())
    }

    #[test]
    fn json_is_read_and_everything_else_refused() {
        for text in [
            "null",
            " {\"b\" : [1, -20, 0],\r\n\t\"a\": {}} ",
            "[true,false,[],\"\\ud83d\\ude00 \\u00e9\\n\"]",
            "123456789012345678901234567890123456789012345678901234567890",
        ] {
            assert!(skips(text), "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "[",
            "[1",
            "[1,]",
            "{,}",
            "{\"a\":1,}",
            "{\"a\"}",
            "{1:2}",
            "01",
            "-",
            "1.5",
            "1e3",
            "NaN",
            "nul",
            "\"",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12x4\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "{\"a\":1,\"a\":2}",
            "{\"b\":1,\"a\":{\"\\u0063\":1,\"b\":2,\"c\":3}}",
            "1 2",
            "\u{feff}1",
            "\"0123456789abcdef\u{1}\"",
        ] {
            assert!(!skips(text), "{text}");
        }
        assert!(Reader::new(b"\"\xff\"").is_err());
    }

    #[test]
    fn depth_is_bounded() {
        assert!(skips(&("[".repeat(256) + &"]".repeat(256))));
        assert!(!skips(&("[".repeat(257) + &"]".repeat(257))));
        assert!(!skips(&"{\"a\":".repeat(1_000_000)));
    }

    #[test]
    fn strings_are_lent_where_they_stand_for_themselves() {
        let mut reader = Reader::new("\"ä longer text than sixteen bytes\"".as_bytes()).unwrap();
        assert!(matches!(reader.text(), Ok(Cow::Borrowed("ä longer text than sixteen bytes"))));
        let mut reader = Reader::new(br#""a\"b\\c\/\b\f\n\r\t\u0041""#).unwrap();
        assert_eq!(reader.text().unwrap(), "a\"b\\c/\u{8}\u{c}\n\r\tA");
    }
}
