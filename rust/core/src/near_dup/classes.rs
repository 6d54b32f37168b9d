//! Texts of equal sets in one group are one class: what is found of one of them holds for all.

use std::ops::Range;

use super::Text;
use super::lists::Lists;
use super::team::Pace;

/// Stands for the class of a text that has none.
pub const NONE: u32 = u32::MAX;

/// Classes, and which texts are in which.
#[derive(Debug)]
pub struct Classes {
    /// The class of each text, or [`NONE`].
    pub of: Vec<u32>,
    /// The texts of each class, ascending.
    pub members: Lists,
    /// Those of them that are dirty.
    pub dirty: Lists,
}

impl Classes {
    /// Of texts whose class is already known.
    fn new(of: Vec<u32>, count: usize, texts: &[Text<'_>]) -> Self {
        let listed = |wanted: &dyn Fn(&Text<'_>) -> bool| {
            let known = (0..).zip(&of).zip(texts).filter(|((_, class), text)| **class != NONE && wanted(text));
            let pairs = known.map(|((text, &class), _)| (class, text)).collect();
            Lists::by_first(count, &[pairs], || true).unwrap_or_default()
        };
        Self { members: listed(&|_| true), dirty: listed(&|text| text.dirty), of }
    }

    /// One class for each group: where every pair is wanted.
    pub fn of_groups(texts: &[Text<'_>]) -> Self {
        let mut groups: Vec<u32> = texts.iter().map(|text| text.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let class = |text: &Text<'_>| groups.binary_search(&text.group).map_or(NONE, index);
        Self::new(texts.iter().map(class).collect(), groups.len(), texts)
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether texts of the second class come after one of the first.
    pub fn follows(&self, class: usize, after: usize) -> bool {
        self.members.get(after).first() < self.members.get(class).last()
    }

    /// Whether a class has a dirty text.
    pub fn is_dirty(&self, class: usize) -> bool {
        !self.dirty.get(class).is_empty()
    }
}

/// What the join compares: for every class its set, sorted by group and then by size.
#[derive(Debug)]
pub struct Ranked<'a> {
    sets: &'a Lists,
    /// For each class a text that has its set.
    texts: Vec<u32>,
    /// How many members each set has.
    pub sizes: Vec<u32>,
    /// The classes of each group.
    pub groups: Vec<Range<usize>>,
}

/// A text on its way into a class.
struct Entry {
    group: u32,
    size: u32,
    hash: u64,
    text: u32,
}

impl<'a> Ranked<'a> {
    /// The classes of all texts whose set is not empty. `go_on` is asked now and then; `None` when it says false.
    pub fn new(texts: &[Text<'_>], sets: &'a Lists, go_on: impl FnMut() -> bool) -> Option<(Self, Classes)> {
        let mut pace = Pace::new(go_on);
        let mut entries = Vec::with_capacity(texts.len());
        for (text, Text { group, .. }) in texts.iter().enumerate() {
            let set = sets.get(text);
            if !set.is_empty() {
                entries.push(Entry { group: *group, size: index(set.len()), hash: hash(set), text: index(text) });
            }
            if !pace.go_on(set.len()) {
                return None;
            }
        }
        entries.sort_unstable_by_key(|entry| (entry.group, entry.size, entry.hash, entry.text));
        let mut ranked = Self { sets, texts: Vec::new(), sizes: Vec::new(), groups: Vec::new() };
        let mut of = vec![NONE; texts.len()];
        let mut before: Option<&Entry> = None;
        for entry in &entries {
            let set = sets.get(entry.text as usize);
            let class = ranked.texts.len();
            // Where different sets have one hash, equal ones may not be neighbours. They are then several classes, which
            // costs time and changes nothing: the join finds the pair.
            let same_group = before.is_some_and(|before| before.group == entry.group);
            let same = same_group
                && before.is_some_and(|before| {
                    (before.size, before.hash) == (entry.size, entry.hash) && sets.get(before.text as usize) == set
                });
            if !same {
                ranked.texts.push(entry.text);
                ranked.sizes.push(entry.size);
                match ranked.groups.last_mut() {
                    Some(group) if same_group => group.end = class + 1,
                    _ => ranked.groups.push(class..class + 1),
                }
            }
            of[entry.text as usize] = index(ranked.texts.len() - 1);
            before = Some(entry);
            if !pace.go_on(set.len()) {
                return None;
            }
        }
        let classes = Classes::new(of, ranked.texts.len(), texts);
        Some((ranked, classes))
    }

    /// How many classes there are.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// The set of a class.
    pub fn set(&self, class: usize) -> &[u32] {
        self.sets.get(self.texts[class] as usize)
    }
}

/// The number of a text, class or member, of which there are fewer than 2^32: that is checked where they come in.
#[allow(clippy::cast_possible_truncation)]
pub fn index(index: usize) -> u32 {
    debug_assert!(index < NONE as usize);
    index as u32
}

fn hash(set: &[u32]) -> u64 {
    set.iter()
        .fold(0, |hash: u64, &number| (hash.rotate_left(26) ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_of_one_group_are_one_class() {
        let text = |group, dirty| Text { body: "", group, dirty };
        let texts = [text(1, false), text(0, true), text(1, true), text(0, true), text(1, false), text(1, false)];
        let mut sets = Lists::default();
        for set in [&[1, 2][..], &[1, 2], &[1, 2], &[], &[3], &[1, 2]] {
            sets.push(set);
        }
        let (ranked, classes) = Ranked::new(&texts, &sets, || true).unwrap();
        assert_eq!(classes.of, [2, 0, 2, NONE, 1, 2]);
        assert_eq!(ranked.sizes, [2, 1, 2]);
        assert_eq!(ranked.groups, [0..1, 1..3]);
        assert_eq!((classes.members.get(2), classes.dirty.get(2)), (&[0, 2, 5][..], &[2][..]));
        assert!(classes.is_dirty(0) && !classes.is_dirty(1));
        assert_eq!((ranked.set(1), classes.len()), (&[3][..], 3));
        let classes = Classes::of_groups(&texts);
        assert_eq!((classes.members.get(0), classes.members.get(1)), (&[1, 3][..], &[0, 2, 4, 5][..]));
    }
}
