//! The few fields of a record that consolidation looks for, out of its canonical bytes.

use std::borrow::Cow;

use crate::json::{Malformed, Read, Reader};

/// The sixteen bytes a record id spells; they sort as the ids do.
pub type Id = [u8; 16];

/// What kind of thing a record is. In the order of the names on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Something that happened.
    Episode,
    /// Something that is so.
    Fact,
    /// How something is done.
    Procedure,
    /// What was drawn from other records.
    Rule,
}

impl Kind {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Episode, Self::Fact, Self::Procedure, Self::Rule];

    /// The type of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "episode" => Self::Episode,
            "fact" => Self::Fact,
            "procedure" => Self::Procedure,
            "rule" => Self::Rule,
            _ => return None,
        })
    }
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Active,
    /// It is disputed.
    Transitional,
    /// Another took its place.
    Superseded,
    /// It was put away.
    Archived,
}

impl State {
    /// Whether it is active or disputed.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Active | Self::Transitional)
    }

    fn named(name: &str) -> Read<Self> {
        Ok(match name {
            "active" => Self::Active,
            "transitional" => Self::Transitional,
            "superseded" => Self::Superseded,
            "archived" => Self::Archived,
            _ => return Err(Malformed),
        })
    }
}

/// What is read of a record, lent from its bytes where that is possible.
#[derive(Debug)]
pub struct Draft<'a> {
    pub id: Id,
    pub kind: Kind,
    pub state: State,
    /// Whether it is a tombstone.
    pub redacted: bool,
    /// Whether consolidation made it.
    pub made: bool,
    pub body: Cow<'a, str>,
    /// Names and values, sorted by name.
    pub slots: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub tags: Vec<Cow<'a, str>>,
    pub evidence: Vec<Cow<'a, str>>,
    pub superseded_by: Option<Cow<'a, str>>,
    /// The digits of the time of creation.
    pub born: u64,
    /// Of an episode the digits of the day of its event, else 0.
    pub day: u64,
    /// Project, user, agent.
    pub scope: [Option<Cow<'a, str>>; 3],
    /// Whether it has the scope of its evidence instead of its own.
    pub borrows: bool,
    /// The sides of its open dispute, sorted.
    pub sides: Option<[Id; 2]>,
    pub key: Option<Cow<'a, str>>,
    pub object: Option<Cow<'a, str>>,
}

/// Milliseconds, seconds, minutes and hours, as digits after those of the day.
const DAY: u64 = 1_000_000_000;

/// The bytes of an id; nothing for text that is none.
#[must_use]
pub fn parse_id(text: &str) -> Option<Id> {
    let digits = text.strip_prefix("mem:")?.as_bytes();
    if digits.len() != 32 {
        return None;
    }
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (nibble(pair[0])? << 4) | nibble(pair[1])?;
    }
    Some(id)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// The text of an id.
#[must_use]
pub fn id_text(id: Id) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    text.push_str("mem:");
    for byte in id {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// The digits of a time as records have it on the wire, `YYYY-MM-DDTHH:MM:SS.mmmZ`; they sort as the times do.
fn parse_time(text: &str) -> Read<u64> {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    if text.len() != FORM.len() {
        return Err(Malformed);
    }
    text.bytes().zip(FORM).try_fold(0, |digits, (byte, form)| match (form, byte) {
        (b'0', b'0'..=b'9') => Ok(digits * 10 + u64::from(byte - b'0')),
        _ if byte == *form && *form != b'0' => Ok(digits),
        _ => Err(Malformed),
    })
}

/// Reads a record.
pub fn read(payload: &[u8]) -> Read<Draft<'_>> {
    let mut found = Found::default();
    let mut reader = Reader::new(payload)?;
    reader.object(|reader, key| found.member(reader, &key))?;
    reader.end()?;
    found.draft()
}

#[derive(Default)]
struct Found<'a> {
    id: Option<Id>,
    kind: Option<Kind>,
    state: Option<State>,
    redacted: bool,
    made: Option<bool>,
    body: Option<Cow<'a, str>>,
    slots: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    tags: Vec<Cow<'a, str>>,
    evidence: Vec<Cow<'a, str>>,
    superseded_by: Option<Cow<'a, str>>,
    created_at: Option<u64>,
    occurred_at: Option<u64>,
    scope: [Option<Cow<'a, str>>; 3],
    scoped: bool,
    sides: Option<[Id; 2]>,
    key: Option<Cow<'a, str>>,
    object: Option<Cow<'a, str>>,
}

impl<'a> Found<'a> {
    fn member(&mut self, reader: &mut Reader<'a>, key: &str) -> Read<()> {
        match key {
            "id" => self.id = Some(parse_id(&reader.text()?).ok_or(Malformed)?),
            "type" => self.kind = Some(Kind::named(&reader.text()?).ok_or(Malformed)?),
            "state" => self.state = Some(State::named(&reader.text()?)?),
            "body" => self.body = Some(reader.text()?),
            "created_at" => self.created_at = Some(parse_time(&reader.text()?)?),
            "occurred_at" => self.occurred_at = Some(parse_time(&reader.text()?)?),
            "superseded_by" => self.superseded_by = reader.optional_text()?,
            "tags" => texts(reader, &mut self.tags)?,
            "evidence" => texts(reader, &mut self.evidence)?,
            "slots" => reader.object(|reader, name| {
                let value = reader.text()?;
                self.slots.push((name, value));
                Ok(())
            })?,
            "redacted" => {
                self.redacted = true;
                reader.skip()?;
            }
            "provenance" => reader.object(|reader, key| {
                if key != "kind" {
                    return reader.skip();
                }
                self.made = Some(reader.text()? == "consolidation");
                Ok(())
            })?,
            "transition" if reader.peek() == Some(b'n') => reader.skip()?,
            "transition" => self.sides = Some(sides(reader)?),
            "agent_memory" => reader.object(|reader, key| self.extension(reader, &key))?,
            _ => reader.skip()?,
        }
        Ok(())
    }

    fn extension(&mut self, reader: &mut Reader<'a>, key: &str) -> Read<()> {
        match key {
            "key" => self.key = Some(reader.text()?),
            "object" => self.object = Some(reader.text()?),
            "scope" => reader.object(|reader, part| {
                self.scoped = true;
                match &*part {
                    "project" => self.scope[0] = Some(reader.text()?),
                    "user_id" => self.scope[1] = Some(reader.text()?),
                    "agent_id" => self.scope[2] = Some(reader.text()?),
                    _ => reader.skip()?,
                }
                Ok(())
            })?,
            _ => reader.skip()?,
        }
        Ok(())
    }

    fn draft(mut self) -> Read<Draft<'a>> {
        let id = self.id.ok_or(Malformed)?;
        let kind = self.kind.ok_or(Malformed)?;
        let made = self.made.ok_or(Malformed)?;
        let born = self.created_at.ok_or(Malformed)?;
        if self.sides.is_some_and(|sides| sides[0] == sides[1] || !sides.contains(&id)) {
            return Err(Malformed);
        }
        self.slots.sort_unstable();
        Ok(Draft {
            id,
            kind,
            state: self.state.unwrap_or(State::Active),
            redacted: self.redacted,
            made,
            body: self.body.ok_or(Malformed)?,
            slots: self.slots,
            borrows: made && !self.scoped && !self.evidence.is_empty(),
            tags: self.tags,
            evidence: self.evidence,
            superseded_by: self.superseded_by,
            born,
            day: if kind == Kind::Episode { self.occurred_at.unwrap_or(born) / DAY } else { 0 },
            scope: self.scope,
            sides: self.sides,
            key: self.key,
            object: self.object,
        })
    }
}

fn texts<'a>(reader: &mut Reader<'a>, into: &mut Vec<Cow<'a, str>>) -> Read<()> {
    reader.array(|reader| {
        into.push(reader.text()?);
        Ok(())
    })
}

/// The sides of a transition, sorted.
fn sides(reader: &mut Reader<'_>) -> Read<[Id; 2]> {
    let mut found = Vec::new();
    reader.object(|reader, key| {
        if key != "sides" {
            return reader.skip();
        }
        reader.array(|reader| {
            found.push(parse_id(&reader.text()?).ok_or(Malformed)?);
            Ok(())
        })
    })?;
    found.sort_unstable();
    <[Id; 2]>::try_from(found).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "mem:000102030405060708090a0b0c0d0eff";

    fn payload(members: &str) -> String {
        format!(
            "{{\"body\":\"b\",\"created_at\":\"2026-01-02T03:04:05.678Z\",\"id\":\"{ID}\",\
             \"provenance\":{{\"kind\":\"chat\"}},\"type\":\"fact\"{members}}}"
        )
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let payload = payload("");
        let draft = read(payload.as_bytes()).unwrap();
        assert_eq!(id_text(draft.id), ID);
        assert_eq!(
            (draft.kind, draft.state, draft.born, draft.day),
            (Kind::Fact, State::Active, 20_260_102_030_405_678, 0)
        );
        assert!(!draft.made && !draft.borrows && !draft.redacted && draft.sides.is_none() && draft.slots.is_empty());
    }

    #[test]
    fn what_is_there_has_to_be_right() {
        for members in [
            ",\"state\":\"lost\"",
            ",\"state\":null",
            ",\"occurred_at\":null",
            ",\"occurred_at\":\"2026-01-02T03:04:05Z\"",
            ",\"tags\":\"abc\"",
            ",\"evidence\":[1]",
            ",\"slots\":{\"a\":1}",
            ",\"slots\":[]",
            ",\"superseded_by\":7",
            ",\"transition\":{}",
            ",\"transition\":{\"sides\":[\"a\",\"b\"]}",
            ",\"agent_memory\":null",
            ",\"agent_memory\":{\"key\":null}",
            ",\"agent_memory\":{\"scope\":{\"project\":null}}",
            ",\"type\":\"fact\"",
        ] {
            assert!(read(payload(members).as_bytes()).is_err(), "{members}");
        }
        assert!(read(payload(",\"unknown\":[{\"a\":[]}],\"transition\":null").as_bytes()).is_ok());
    }

    #[test]
    fn only_ids_are_ids() {
        assert_eq!(parse_id(ID).map(id_text).as_deref(), Some(ID));
        for text in [
            "",
            "mem:",
            "mem:00",
            &ID[4..],
            &ID.to_uppercase(),
            &format!("{ID}0"),
            "mem:000102030405060708090a0b0c0d0efg",
        ] {
            assert_eq!(parse_id(text), None, "{text}");
        }
    }
}
