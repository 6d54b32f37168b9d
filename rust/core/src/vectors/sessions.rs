//! Which records are one session, and in which order.

use hashbrown::HashMap;

use super::Id;

/// Where a record stands in its session: event time and time of birth in milliseconds, then id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub event_at: i64,
    pub created_at: i64,
    pub id: Id,
}

/// The sessions of vectors, which are told by their slots.
#[derive(Default)]
pub struct Sessions {
    /// Members in order, each with its slot.
    members: HashMap<String, Vec<(Place, usize)>>,
    /// By slot.
    joined: Vec<Option<(String, Place)>>,
}

impl Sessions {
    /// A slot more, in no session.
    pub fn grow(&mut self) {
        self.joined.push(None);
    }

    /// Takes a slot into a session.
    pub fn join(&mut self, slot: usize, session: &str, place: Place) {
        let members = self.members.entry_ref(session).or_default();
        let at = members.partition_point(|(other, _)| *other < place);
        members.insert(at, (place, slot));
        self.joined[slot] = Some((session.to_owned(), place));
    }

    /// Takes a slot out of its session.
    pub fn leave(&mut self, slot: usize) {
        let Some((session, place)) = self.joined[slot].take() else { return };
        if let Some(members) = self.members.get_mut(&session) {
            let at = members.partition_point(|(other, _)| *other < place);
            if members.get(at).is_some_and(|(other, _)| *other == place) {
                members.remove(at);
            }
            if members.is_empty() {
                self.members.remove(&session);
            }
        }
    }

    /// Forgets a slot; the last one takes its number.
    pub fn drop_slot(&mut self, slot: usize) {
        self.leave(slot);
        self.joined.swap_remove(slot);
        let Some(Some((session, place))) = self.joined.get(slot) else { return };
        if let Some(members) = self.members.get_mut(session) {
            let at = members.partition_point(|(other, _)| other < place);
            if let Some(member) = members.get_mut(at) {
                member.1 = slot;
            }
        }
    }

    /// The slots of each session, in order.
    pub fn each(&self) -> impl Iterator<Item = &[(Place, usize)]> {
        self.members.values().map(Vec::as_slice)
    }

    /// The session and the place of a slot.
    pub fn of(&self, slot: usize) -> Option<(&str, Place)> {
        self.joined.get(slot)?.as_ref().map(|(session, place)| (session.as_str(), *place))
    }
}
