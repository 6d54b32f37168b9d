//! What the index reads of a record's canonical bytes (spec/recall.md section 4).

use std::borrow::Cow;

use super::records::{Id, Links, State, Type, parse_id};
use crate::json::{Malformed, Read, Reader};

/// A record as it stands in its bytes, lent from them where that is possible.
#[derive(Debug)]
pub struct Wire<'a> {
    pub id: Id,
    pub kind: Type,
    pub state: State,
    /// Whether nothing but links is left of it.
    pub redacted: bool,
    pub body: Cow<'a, str>,
    pub tags: Vec<Cow<'a, str>>,
    pub key: Option<Cow<'a, str>>,
    pub object: Option<Cow<'a, str>>,
    pub author: Option<Cow<'a, str>>,
    /// Project, user, agent, session.
    pub scope: [Option<Cow<'a, str>>; 4],
    /// Ten-thousandths.
    pub confidence: u16,
    /// Ten-thousandths.
    pub value: u64,
    /// Milliseconds since 1970, as the others.
    pub created_at: i64,
    pub updated_at: i64,
    pub event_at: i64,
    pub links: Links,
}

/// Reads a record.
pub fn read(payload: &[u8]) -> Read<Wire<'_>> {
    let mut found = Found { payload, ..Found::default() };
    let mut reader = Reader::new(payload)?;
    reader.object(|reader, key| found.member(reader, &key))?;
    reader.end()?;
    found.wire()
}

#[derive(Default)]
struct Found<'a> {
    payload: &'a [u8],
    id: Option<Id>,
    kind: Option<Type>,
    state: Option<State>,
    redacted: bool,
    made: bool,
    scoped: bool,
    body: Option<Cow<'a, str>>,
    tags: Vec<Cow<'a, str>>,
    evidence: Vec<Id>,
    supersedes: Option<Id>,
    also: Vec<Id>,
    superseded_by: Option<Id>,
    partner: Option<Id>,
    sides: Vec<Id>,
    created_at: Option<i64>,
    updated_at: Option<i64>,
    occurred_at: Option<i64>,
    confidence: Option<u64>,
    value: Option<u64>,
    standing: [Option<u64>; 2],
    scope: [Option<Cow<'a, str>>; 4],
    key: Option<Cow<'a, str>>,
    object: Option<Cow<'a, str>>,
    author: Option<Cow<'a, str>>,
}

impl<'a> Found<'a> {
    fn member(&mut self, reader: &mut Reader<'a>, key: &str) -> Read<()> {
        match key {
            "id" => self.id = Some(id(&reader.text()?)?),
            "type" => self.kind = Some(Type::named(&reader.text()?).ok_or(Malformed)?),
            "state" => self.state = Some(State::named(&reader.text()?).ok_or(Malformed)?),
            "body" => self.body = Some(reader.text()?),
            "created_at" => self.created_at = Some(time(&reader.text()?)?),
            "updated_at" => self.updated_at = Some(time(&reader.text()?)?),
            "occurred_at" => self.occurred_at = reader.optional_text()?.map(|text| time(&text)).transpose()?,
            "confidence" => self.confidence = Some(ten_thousandths(&reader.text()?)?),
            "supersedes" => self.supersedes = reader.optional_text()?.map(|text| id(&text)).transpose()?,
            "superseded_by" => self.superseded_by = reader.optional_text()?.map(|text| id(&text)).transpose()?,
            "tags" => reader.array(|reader| {
                let tag = reader.text()?;
                if !self.tags.contains(&tag) {
                    self.tags.push(tag);
                }
                Ok(())
            })?,
            "evidence" => ids(reader, &mut self.evidence)?,
            "redacted" => {
                self.redacted = reader.peek() == Some(b't');
                reader.skip()?;
            }
            "provenance" => reader.object(|reader, key| {
                if key != "kind" {
                    return reader.skip();
                }
                self.made = reader.text()? == "consolidation";
                Ok(())
            })?,
            "transition" if reader.peek() == Some(b'{') => {
                reader
                    .object(|reader, key| if key == "sides" { ids(reader, &mut self.sides) } else { reader.skip() })?;
            }
            "agent_memory" if reader.peek() == Some(b'{') => {
                reader.object(|reader, key| self.extension(reader, &key))?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    }

    fn extension(&mut self, reader: &mut Reader<'a>, key: &str) -> Read<()> {
        match key {
            "key" => self.key = Some(reader.text()?),
            "object" => self.object = Some(reader.text()?),
            "author" => self.author = Some(reader.text()?),
            "value" => self.value = Some(ten_thousandths(&reader.text()?)?),
            "supersedes_also" => ids(reader, &mut self.also)?,
            "standing" => reader.object(|reader, key| {
                let place = match &*key {
                    "good" => 0,
                    "bad" => 1,
                    _ => return reader.skip(),
                };
                self.standing[place] = Some(natural_after(self.payload, &key)?);
                reader.skip()
            })?,
            "scope" => {
                self.scoped = true;
                reader.object(|reader, part| {
                    match &*part {
                        "project" => self.scope[0] = Some(reader.text()?),
                        "user_id" => self.scope[1] = Some(reader.text()?),
                        "agent_id" => self.scope[2] = Some(reader.text()?),
                        "session_id" => self.scope[3] = Some(reader.text()?),
                        _ => reader.skip()?,
                    }
                    Ok(())
                })?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    }

    fn wire(mut self) -> Read<Wire<'a>> {
        let id = self.id.ok_or(Malformed)?;
        let mut replaces: Vec<Id> = self.supersedes.into_iter().collect();
        replaces.extend(self.also.iter().filter(|also| Some(**also) != self.supersedes));
        if !self.sides.is_empty() {
            self.partner = Some(*self.sides.iter().find(|side| **side != id).ok_or(Malformed)?);
        }
        let standing = match self.standing {
            [Some(good), Some(bad)] => Some((good, bad)),
            _ => None,
        };
        let borrows = self.made && !self.scoped;
        let links = Links {
            borrowed: if borrows && !self.redacted { self.evidence } else { Vec::new() },
            replaces,
            superseded_by: self.superseded_by,
            partner: self.partner.filter(|_| !self.redacted),
            standing: standing.filter(|_| !self.redacted),
        };
        let created_at = self.created_at.ok_or(Malformed)?;
        let confidence = self.confidence.ok_or(Malformed)?;
        Ok(Wire {
            id,
            kind: self.kind.ok_or(Malformed)?,
            state: self.state.ok_or(Malformed)?,
            redacted: self.redacted,
            body: self.body.ok_or(Malformed)?,
            tags: self.tags,
            key: self.key,
            object: self.object,
            author: self.author,
            scope: self.scope,
            confidence: u16::try_from(confidence).map_err(|_| Malformed)?,
            value: self.value.unwrap_or(10_000).max(1),
            created_at,
            updated_at: self.updated_at.ok_or(Malformed)?,
            event_at: self.occurred_at.unwrap_or(created_at),
            links,
        })
    }
}

fn id(text: &str) -> Read<Id> {
    parse_id(text).ok_or(Malformed)
}

fn ids(reader: &mut Reader<'_>, into: &mut Vec<Id>) -> Read<()> {
    reader.array(|reader| {
        into.push(id(&reader.text()?)?);
        Ok(())
    })
}

/// The whole number that is the value of a key lent from `payload`. The reader passes numbers over; it lends keys, and a
/// lent key tells where its value stands. One that is not lent, as it holds escapes, lies elsewhere in memory and is refused.
fn natural_after(payload: &[u8], key: &str) -> Read<u64> {
    let place = (key.as_ptr() as usize).checked_sub(payload.as_ptr() as usize).ok_or(Malformed)?;
    let rest = payload.get(place.saturating_add(key.len())..).ok_or(Malformed)?;
    let value = rest.iter().position(|byte| !matches!(byte, b'"' | b':' | b' ' | b'\t' | b'\r' | b'\n'));
    let digits = rest[value.ok_or(Malformed)?..].iter().take_while(|byte| byte.is_ascii_digit());
    let mut count = None;
    for digit in digits {
        let before: u64 = count.unwrap_or(0);
        let next = before.checked_mul(10).and_then(|tens| tens.checked_add(u64::from(digit - b'0')));
        count = Some(next.ok_or(Malformed)?);
    }
    count.ok_or(Malformed)
}

/// A decimal with at most four places, in ten-thousandths.
fn ten_thousandths(text: &str) -> Read<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || part.len() > 4 || !digits(whole) || !digits(part) {
        return Err(Malformed);
    }
    let mut number = 0;
    for digit in whole.bytes().chain(part.bytes()) {
        number = number * 10 + u64::from(digit - b'0');
    }
    Ok((part.len()..4).fold(number, |number, _| number * 10))
}

/// Milliseconds since 1970 of a time as records have it, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
fn time(text: &str) -> Read<i64> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    if text.len() != FORM.len() {
        return Err(Malformed);
    }
    let bytes = text.as_bytes();
    let fits =
        bytes.iter().zip(FORM).all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form });
    if !fits {
        return Err(Malformed);
    }
    let number =
        |from: usize, to: usize| bytes[from..to].iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    let days = super::days::day_number(number(0, 4), number(5, 7), number(8, 10));
    Ok(((days * 24 + number(11, 13)) * 60 + number(14, 16)) * 60_000 + number(17, 19) * 1000 + number(20, 23))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(members: &str) -> String {
        format!(
            "{{\"agent_memory\":{{\"author\":\"Ann\",\"standing\":{{\"bad\":3,\"good\":12}},\"value\":\"2.5000\"}},\"body\":\"b\",\
             \"confidence\":\"0.9000\",\"created_at\":\"2026-01-02T03:04:05.678Z\",\"id\":\"mem:{}\",\
             \"provenance\":{{\"kind\":\"chat\"}},\"state\":\"active\",\"tags\":[\"x\",\"y\",\"x\"],\"type\":\"fact\",\
             \"updated_at\":\"1969-12-31T23:59:59.999Z\"{members}}}",
            "0".repeat(32)
        )
    }

    #[test]
    fn what_is_there_is_read() {
        let payload = payload("");
        let wire = read(payload.as_bytes()).unwrap();
        assert_eq!((wire.created_at, wire.updated_at, wire.event_at), (1_767_323_045_678, -1, 1_767_323_045_678));
        assert_eq!((wire.confidence, wire.value, wire.links.standing), (9000, 25_000, Some((12, 3))));
        assert_eq!((wire.tags.len(), wire.author.as_deref(), wire.redacted), (2, Some("Ann"), false));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for members in
            [",\"supersedes\":\"x\"", ",\"evidence\":[1]", ",\"occurred_at\":\"2026\"", ",\"body\":\"b\"", "}"]
        {
            assert!(read(payload(members).as_bytes()).is_err(), "{members}");
        }
        assert!(read(b"{}").is_err() && read(b"").is_err() && read(b"\xff").is_err());
    }
}
