//! Putting what active records say in place, in the index, and out of both.

use super::Columns;
use super::clashes::gist;
use super::denials::sketch_of;
use super::payload::Draft;
use super::reading::{Pool, Said};
use super::rows::{Text, kind_and_scope};
use super::words::{NONE, count};

/// Texts that are gone are cleared away when they are more than this, and more than there are others.
const MANY_GONE: usize = 4096;

/// The stems that say only that something is needed: no core terms. A test compares them with the lexicon.
const FRAME_STEMS: [&str; 4] = ["need", "requir", "necessari", "necessar"];

impl Columns {
    /// Gives the words that are no core terms numbers for good.
    pub(super) fn hold_frames(&mut self) {
        if self.frames.is_empty() {
            self.frames = FRAME_STEMS.iter().map(|stem| self.words.take(stem).0).collect();
        }
    }

    /// Puts what an active record says in place.
    pub(super) fn set_text(&mut self, row: u32, draft: &Draft<'_>, said: Option<Said>, pool: &mut Pool) {
        let place = self.rows[row as usize].text;
        let same_body = self.text(place).is_some_and(|text| *text.body == draft.body);
        if same_body {
            self.renew_text(place, draft);
        } else {
            self.drop_text(row);
            let said = said.unwrap_or_else(|| pool.read(&draft.body));
            let text = self.new_text(row, draft, said, pool);
            self.rows[row as usize].text = self.place(text);
        }
    }

    fn new_text(&mut self, row: u32, draft: &Draft<'_>, said: Said, pool: &Pool) -> Text {
        let mut terms = Vec::with_capacity(2 * said.terms.len());
        terms.extend(pool.terms(said.terms).map(|term| self.words.take(term).0));
        let mut text = Text {
            row,
            group: NONE,
            negated: said.negated,
            body: draft.body.as_ref().into(),
            normal: said.normal,
            born: draft.born,
            day: day_of(draft),
            slots: self.take_slots(draft),
            key: self.take_word(draft.key.as_deref()),
            object: self.take_word(draft.object.as_deref()),
            statement: said.statement,
            ..Text::default()
        };
        text.set_words(terms, |word| self.frames.contains(&word));
        text
    }

    fn take_slots(&mut self, draft: &Draft<'_>) -> Box<[(u32, u32)]> {
        let slots = draft.slots.iter().map(|(name, value)| {
            let word = self.words.take(value).0;
            self.gists.entry(word).or_insert_with(|| gist(value, &self.value_hasher));
            (self.words.take(name).0, word)
        });
        slots.collect()
    }

    fn take_word(&mut self, text: Option<&str>) -> u32 {
        text.map_or(NONE, |text| self.words.take(text).0)
    }

    /// What may change of a text while its body stays.
    fn renew_text(&mut self, place: u32, draft: &Draft<'_>) {
        let slots = self.take_slots(draft);
        let key = self.take_word(draft.key.as_deref());
        let object = self.take_word(draft.object.as_deref());
        let born = draft.born;
        let day = day_of(draft);
        let Some(text) = self.texts[place as usize].as_mut() else { return };
        let entered_alike = text.slots == slots && text.key == key && text.day == day;
        let old_slots = std::mem::replace(&mut text.slots, slots);
        let old_words = [std::mem::replace(&mut text.key, key), std::mem::replace(&mut text.object, object)];
        (text.born, text.day) = (born, day);
        if !entered_alike {
            self.displace(place);
        }
        self.release_words(old_slots.iter().flat_map(|(name, value)| [*name, *value]).chain(old_words));
    }

    fn place(&mut self, text: Text) -> u32 {
        if let Some(place) = self.free.pop() {
            self.texts[place as usize] = Some(text);
            return place;
        }
        self.texts.push(Some(text));
        self.sizes.push(0);
        self.sketches.push(0);
        count(self.texts.len() - 1)
    }

    /// Enters a text that has no group in the index.
    pub(super) fn enter_text(&mut self, place: u32, group: u32, signature: u32) {
        if let Some(text) = self.texts[place as usize].as_mut() {
            text.group = group;
            self.index.enter(place, text, signature);
            self.sizes[place as usize] = size_of(text);
            self.sketches[place as usize] = sketch_of(text.core());
            self.grouped[kind_and_scope(group).0 as usize] += 1;
        }
    }

    /// Takes a text out of the index, by giving it a number that is on no list.
    pub(super) fn displace(&mut self, place: u32) {
        let entered = self.text(place).is_some_and(|text| text.group != NONE);
        if entered && let Some(mut text) = self.texts[place as usize].take() {
            self.leave(place, text.group);
            text.group = NONE;
            let row = text.row as usize;
            self.rows[row].text = self.place(text);
        }
    }

    /// Counts a text out that leaves its group; its number stays on lists.
    fn leave(&mut self, place: u32, group: u32) {
        self.gone += 1;
        self.sizes[place as usize] = 0;
        self.grouped[kind_and_scope(group).0 as usize] -= 1;
    }

    pub(super) fn drop_text(&mut self, row: u32) {
        let place = std::mem::replace(&mut self.rows[row as usize].text, NONE);
        let Some(text) = self.texts.get_mut(place as usize).and_then(Option::take) else { return };
        if text.group == NONE {
            self.free.push(place);
        } else {
            self.leave(place, text.group);
        }
        let slots = text.slots.iter().flat_map(|(name, value)| [*name, *value]);
        self.release_words(text.terms().iter().copied().chain(slots).chain([text.key, text.object]));
    }

    pub(super) fn clear_away(&mut self) {
        let there = self.texts.len() - self.gone - self.free.len();
        if self.gone > MANY_GONE.max(there) {
            let texts = &self.texts;
            self.index.retain(|number| texts[number as usize].is_some());
            self.free = (0..count(texts.len())).filter(|number| texts[*number as usize].is_none()).collect();
            self.gone = 0;
        }
    }
}

/// The number of core terms, or the greatest there is room for.
fn size_of(text: &Text) -> u8 {
    u8::try_from(text.core().len()).unwrap_or(u8::MAX)
}

fn day_of(draft: &Draft<'_>) -> u32 {
    u32::try_from(draft.day).unwrap_or(u32::MAX) // Eight digits.
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::analyse;
    use crate::text::lexicon::{FRAME_STEM, lookup};

    #[test]
    fn the_frame_stems_are_those_of_the_lexicon() {
        assert!(FRAME_STEMS.iter().all(|stem| lookup(stem).any(FRAME_STEM)));
        assert!(analyse("required, and needs").core().is_empty());
    }

    fn record(body: &str, members: &str) -> String {
        format!(
            r#"{{"body":"{body}","created_at":"2026-01-02T03:04:05.678Z","id":"mem:00000000000000000000000000000001",
            "provenance":{{"kind":"chat"}},"type":"episode"{members}}}"#
        )
    }

    #[test]
    fn nothing_is_kept_of_what_is_erased_put_away_or_removed() {
        let said = record(
            "hunter2 zephyr",
            r#","tags":["quokka"],"slots":{"wombat":"numbat"},"agent_memory":{"key":"bilby","object":"dingo","scope":{"user_id":"emu"}}"#,
        );
        let words = ["hunter2", "zephyr", "quokka", "wombat", "numbat", "bilby", "dingo", "emu"];
        let erased = record("[redacted]", r#","state":"archived","redacted":true"#);
        for erase in [true, false] {
            let mut columns = Columns::new();
            columns.update(&[said.as_bytes()]).unwrap();
            assert!(words.iter().all(|word| columns.words.find(word).is_some()));
            if erase {
                columns.update(&[erased.as_bytes()]).unwrap();
            } else {
                columns.remove(["mem:00000000000000000000000000000001"]);
            }
            assert!(words.iter().all(|word| columns.words.find(word).is_none()));
            assert!(columns.gists.is_empty() && columns.texts.iter().all(Option::is_none));
        }
        let mut columns = Columns::new();
        columns.update(&[said.as_bytes()]).unwrap();
        columns.update(&[said.replace("\"episode\"", "\"episode\",\"state\":\"superseded\"").as_bytes()]).unwrap();
        // Whose it is stays known, as its evidence's scope may be that of others.
        assert_eq!(words.map(|word| columns.words.find(word).is_some()), words.map(|word| word == "emu"));
    }
}
