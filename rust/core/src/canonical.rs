//! Canonical JSON: one value, one sequence of bytes.
//!
//! Every string and key is normalised first, then the keys of an object are sorted by code point, then text is escaped.
//! The other order is a trap: normalising escaped text lets a combining mark compose with the `n` of an escaped newline.
//!
//! The caller walks its own values and tells the [`Writer`] what it meets; objects may come in any order of keys.

use std::borrow::Cow;

use crate::error::{Fault, Refusal};
use crate::escape::push_normal;
use crate::sink::{Sink, check_depth};

/// How large a cleared writer's buffer may be, in bytes.
const ROOM_KEPT: usize = 1 << 20;

/// Writes one value into one buffer. The members of an object are written as they come and put in order when it ends.
#[derive(Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
    frames: Vec<Frame>,
    /// Members of all open objects, outermost first.
    members: Vec<Member>,
    /// The normalised keys of those members, one after another.
    keys: String,
    /// Where members are put in order.
    sorted: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Frame {
    Array { empty: bool },
    Object { members: usize, keys: usize, ascending: bool },
}

#[derive(Clone, Copy, Debug)]
struct Member {
    /// The first eight bytes of the key as a number: most comparisons need no more.
    prefix: u64,
    /// Where the key lies in `keys`.
    key: (usize, usize),
    /// Where key and value lie in `out`, without commas around them; the end is known when the object ends.
    span: (usize, usize),
}

impl Writer {
    /// A writer with room for a record.
    #[must_use]
    pub fn new() -> Self {
        Self {
            out: Vec::with_capacity(1024),
            frames: Vec::with_capacity(8),
            members: Vec::with_capacity(40),
            keys: String::with_capacity(400),
            sorted: Vec::new(),
        }
    }

    /// What has been written since the beginning or the last [`Writer::clear`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// The same, given away.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Forgets everything, also after a refusal, and keeps the room unless it is unusually large.
    pub fn clear(&mut self) {
        if self.out.capacity() > ROOM_KEPT {
            *self = Self::new();
        }
        self.out.clear();
        self.frames.clear();
        self.members.clear();
        self.keys.clear();
    }

    fn begin(&mut self, frame: Frame, bracket: u8) -> Result<(), Refusal> {
        check_depth(self.frames.len())?;
        self.separate();
        self.frames.push(frame);
        self.out.push(bracket);
        Ok(())
    }

    /// Before a value: the comma between the items of an array. Members get theirs with the key.
    fn separate(&mut self) {
        if let Some(Frame::Array { empty }) = self.frames.last_mut()
            && !std::mem::take(empty)
        {
            self.out.push(b',');
        }
    }

    fn put_in_order(&mut self, first: usize) -> Result<(), Refusal> {
        let members = &mut self.members[first..];
        let start = members.first().map_or(self.out.len(), |member| member.span.0);
        let mut end = self.out.len();
        for member in members.iter_mut().rev() {
            member.span.1 = end;
            end = member.span.0 - 1; // The comma, or the bracket before the first.
        }
        let key = |member: &Member| &self.keys[member.key.0..member.key.1];
        members.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b))));
        if members.windows(2).any(|pair| pair[0].prefix == pair[1].prefix && key(&pair[0]) == key(&pair[1])) {
            return Err(Fault::EqualKeys.into());
        }
        self.sorted.clear();
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                self.sorted.push(b',');
            }
            self.sorted.extend_from_slice(&self.out[member.span.0..member.span.1]);
        }
        self.out.truncate(start);
        self.out.extend_from_slice(&self.sorted);
        Ok(())
    }
}

impl Sink for Writer {
    fn null(&mut self) {
        self.separate();
        self.out.extend_from_slice(b"null");
    }

    fn boolean(&mut self, value: bool) {
        self.separate();
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn integer(&mut self, value: i64) {
        self.separate();
        if value < 0 {
            self.out.push(b'-');
        }
        let mut digits = [0; 20];
        let mut from = digits.len();
        let mut rest = value.unsigned_abs();
        loop {
            from -= 1;
            digits[from] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.out.extend_from_slice(&digits[from..]);
    }

    fn big_integer(&mut self, negative: bool, limbs: &[u32]) {
        self.separate();
        if negative {
            self.out.push(b'-');
        }
        self.out.extend_from_slice(crate::decimal::decimal(limbs).as_bytes());
    }

    fn string<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        self.separate();
        push_normal(&mut self.out, text)
    }

    fn begin_array(&mut self) -> Result<(), Refusal> {
        self.begin(Frame::Array { empty: true }, b'[')
    }

    fn end_array(&mut self) -> Result<(), Refusal> {
        let Some(Frame::Array { .. }) = self.frames.pop() else { return Err(Fault::OutOfOrder.into()) };
        self.out.push(b']');
        Ok(())
    }

    fn begin_object(&mut self) -> Result<(), Refusal> {
        self.begin(Frame::Object { members: self.members.len(), keys: self.keys.len(), ascending: true }, b'{')
    }

    fn key<'a>(&mut self, key: &'a str) -> Result<Cow<'a, str>, Refusal> {
        let Some(Frame::Object { members, ascending, .. }) = self.frames.last_mut() else {
            return Err(Fault::OutOfOrder.into());
        };
        let first = self.members.len() == *members;
        if !first {
            self.out.push(b',');
        }
        let from = self.out.len();
        let key = push_normal(&mut self.out, key);
        self.out.push(b':');
        let prefix = prefix(&key);
        if !first {
            let last = self.members[self.members.len() - 1];
            *ascending &= (last.prefix, &self.keys[last.key.0..last.key.1]) < (prefix, &*key);
        }
        let at = self.keys.len();
        self.keys.push_str(&key);
        self.members.push(Member { prefix, key: (at, self.keys.len()), span: (from, from) });
        Ok(key)
    }

    fn end_object(&mut self) -> Result<(), Refusal> {
        let Some(Frame::Object { members, keys, ascending }) = self.frames.pop() else {
            return Err(Fault::OutOfOrder.into());
        };
        if !ascending {
            self.put_in_order(members)?;
        }
        self.members.truncate(members);
        self.keys.truncate(keys);
        self.out.push(b'}');
        Ok(())
    }
}

fn prefix(key: &str) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key.as_bytes()[..length]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::MAX_DEPTH;

    fn text(write: impl FnOnce(&mut Writer) -> Result<(), Refusal>) -> Result<String, Refusal> {
        let mut writer = Writer::new();
        write(&mut writer)?;
        Ok(String::from_utf8(writer.into_bytes()).unwrap())
    }

    fn object(keys: &[&str]) -> Result<String, Refusal> {
        text(|w| {
            w.begin_object()?;
            for (index, key) in keys.iter().enumerate() {
                let _ = w.key(key)?;
                w.integer(i64::try_from(index).unwrap());
            }
            w.end_object()
        })
    }

    #[test]
    fn keys_are_sorted_by_code_point_before_they_are_escaped() {
        assert_eq!(object(&[]).unwrap(), "{}");
        assert_eq!(object(&["b", "a", "ab", ""]).unwrap(), r#"{"":3,"a":1,"ab":2,"b":0}"#);
        assert_eq!(object(&["x", "\n", "\"", "!"]).unwrap(), r#"{"\n":1,"!":3,"\"":2,"x":0}"#);
        // UTF-16 would put the emoji before the fullwidth letter.
        assert_eq!(object(&["🎉", "ｅ"]).unwrap(), r#"{"ｅ":1,"🎉":0}"#);
        assert_eq!(object(&["prefix-of-8-b", "prefix-of-8-a"]).unwrap(), r#"{"prefix-of-8-a":1,"prefix-of-8-b":0}"#);
    }

    #[test]
    fn objects_nest_in_one_another() {
        let value = text(|w| {
            w.begin_array()?;
            w.begin_object()?;
            for key in ["z", "y"] {
                w.key(key)?;
                w.begin_object()?;
                w.key("b")?;
                w.null();
                w.key("a")?;
                w.begin_array()?;
                w.boolean(true);
                w.boolean(false);
                w.end_array()?;
                w.end_object()?;
            }
            w.end_object()?;
            assert_eq!(w.string("end"), "end");
            w.end_array()
        });
        let inner = r#"{"a":[true,false],"b":null}"#;
        assert_eq!(value.unwrap(), format!(r#"[{{"y":{inner},"z":{inner}}},"end"]"#));
    }

    #[test]
    fn keys_equal_after_normalisation_are_refused() {
        for keys in [["é", "e\u{301}"], ["a", "a"]] {
            assert_eq!(object(&keys).unwrap_err().fault(), &Fault::EqualKeys);
        }
    }

    #[test]
    fn text_is_normalised_and_then_escaped() {
        let value = text(|w| {
            let _ = w.string("\n\u{303}n\u{303}\u{1}\u{1f}\u{7f}\"\\\u{8}\u{c}\r\t\u{2028}");
            Ok(())
        });
        assert_eq!(value.unwrap(), "\"\\n\u{303}ñ\\u0001\\u001f\u{7f}\\\"\\\\\\b\\f\\r\\t\u{2028}\"");
    }

    #[test]
    fn integers_are_exact() {
        for value in [0, 7, -1, i64::MAX, i64::MIN] {
            assert_eq!(
                text(|w| {
                    w.integer(value);
                    Ok(())
                })
                .unwrap(),
                value.to_string()
            );
        }
        assert_eq!(
            text(|w| {
                w.big_integer(true, &[0, 0, 1]);
                Ok(())
            })
            .unwrap(),
            "-18446744073709551616"
        );
    }

    #[test]
    fn depth_has_a_limit_and_a_writer_survives_a_refusal() {
        let mut writer = Writer::new();
        for _ in 0..MAX_DEPTH {
            writer.begin_array().unwrap();
        }
        assert_eq!(writer.begin_object().unwrap_err().fault(), &Fault::TooDeep);
        writer.clear();
        writer.null();
        assert_eq!(writer.bytes(), b"null");
    }

    #[test]
    fn events_out_of_order_are_refused() {
        let mut writer = Writer::new();
        assert_eq!(writer.key("a").unwrap_err().fault(), &Fault::OutOfOrder);
        assert_eq!(writer.end_array().unwrap_err().fault(), &Fault::OutOfOrder);
        assert_eq!(writer.end_object().unwrap_err().fault(), &Fault::OutOfOrder);
    }
}
