//! Records of one session in order, and how far around each its neighbours have the numbers next to its own
//! (spec/recall.md section 5.2).
//!
//! Records are numbered so that those of a session mostly follow each other. Where they do, what a record lends is added to
//! the places around its own; where they do not, neighbours are found by links.

use hashbrown::HashMap;

use super::NONE;
use super::records::Row;

/// How a record lies among the numbers around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach(u16);

impl Reach {
    const SCATTERED: u16 = 1 << 10;
    const NEAR_SCATTERED: u16 = 1 << 11;
    const NEAR_LONG: u16 = 1 << 12;

    /// Whether nothing is lent around it.
    #[must_use]
    pub fn is_alone(self) -> bool {
        self.0 == 0
    }

    /// How many records before it in its session have the numbers just below its own.
    #[must_use]
    pub fn before(self) -> usize {
        usize::from(self.0 & 31)
    }

    /// How many records after it have the numbers just above.
    #[must_use]
    pub fn after(self) -> usize {
        usize::from((self.0 >> 5) & 31)
    }

    /// Whether some neighbour that counts has a number elsewhere.
    #[must_use]
    pub fn is_scattered(self) -> bool {
        self.0 & Self::SCATTERED != 0
    }

    /// Whether that holds of it or of a neighbour.
    #[must_use]
    pub fn is_near_scattered(self) -> bool {
        self.0 & Self::NEAR_SCATTERED != 0
    }

    /// Whether it or a neighbour is scattered, or has so many terms that it is lent less.
    #[must_use]
    pub fn is_special(self) -> bool {
        self.0 & (Self::NEAR_SCATTERED | Self::NEAR_LONG) != 0
    }
}

/// The sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    /// The records of each session in order, by the number of its scope.
    members: HashMap<u32, Vec<u32>>,
    /// For each record the one before and the one after it.
    links: Vec<[u32; 2]>,
    reaches: Vec<Reach>,
    /// How many records are scattered.
    scattered: usize,
    /// Records around which something changed.
    changed: Vec<u32>,
}

impl Sessions {
    /// How far around each record its neighbours are.
    #[must_use]
    pub fn reaches(&self) -> &[Reach] {
        &self.reaches
    }

    /// Whether no record has a session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// How many records have neighbours elsewhere.
    #[must_use]
    pub fn scattered(&self) -> usize {
        self.scattered
    }

    /// The records before one, the nearest first, or after it.
    pub fn walk(&self, record: u32, after: bool) -> impl Iterator<Item = u32> {
        let side = usize::from(after);
        let next = move |record: &u32| {
            let next = self.links[*record as usize][side];
            (next != NONE).then_some(next)
        };
        std::iter::successors(next(&record), next)
    }

    /// Makes room for a record without session.
    pub fn grow(&mut self, records: usize) {
        self.links.resize(records, [NONE; 2]);
        self.reaches.resize(records, Reach::default());
    }

    /// Gives back memory that growing columns have set aside.
    pub fn shrink(&mut self) {
        self.links.shrink_to_fit();
        self.reaches.shrink_to_fit();
    }

    /// Puts a record in its place.
    pub fn add(&mut self, record: u32, rows: &[Row]) {
        let row = &rows[record as usize];
        let members = self.members.entry(row.scope).or_default();
        let order = row.order();
        let place = match members.last() {
            Some(last) if rows[*last as usize].order() > order => {
                members.partition_point(|member| rows[*member as usize].order() < order)
            }
            _ => members.len(),
        };
        members.insert(place, record);
        let before = place.checked_sub(1).map_or(NONE, |place| members[place]);
        let after = members.get(place + 1).copied().unwrap_or(NONE);
        self.links[record as usize] = [before, after];
        self.link(before, after, record, record);
        self.changed.push(record);
    }

    /// Takes a record out.
    pub fn remove(&mut self, record: u32, rows: &[Row]) {
        let row = &rows[record as usize];
        let Some(members) = self.members.get_mut(&row.scope) else { return };
        let order = row.order();
        let place = members.partition_point(|member| rows[*member as usize].order() < order);
        if members.get(place) != Some(&record) {
            return;
        }
        members.remove(place);
        if members.is_empty() {
            self.members.remove(&row.scope);
        }
        let [before, after] = std::mem::replace(&mut self.links[record as usize], [NONE; 2]);
        self.link(before, after, after, before);
        self.changed.extend([before, after].iter().filter(|neighbour| **neighbour != NONE));
        self.scattered -= usize::from(self.reaches[record as usize].is_scattered());
        self.reaches[record as usize] = Reach::default();
    }

    fn link(&mut self, before: u32, after: u32, next: u32, last: u32) {
        if before != NONE {
            self.links[before as usize][1] = next;
        }
        if after != NONE {
            self.links[after as usize][0] = last;
        }
    }

    /// Brings the reaches in line with what changed; `width` is how many places away is near, `is_long` tells which records
    /// are lent less.
    pub fn settle(&mut self, width: usize, is_long: impl Fn(u32) -> bool) {
        let changed = std::mem::take(&mut self.changed);
        // When much has changed, looking at all is quicker than finding out what lies around.
        let all = changed.len() > self.reaches.len() / 16;
        let around = if all { self.everything() } else { self.around(changed, width) };
        for record in &around {
            let (before, far_before) = self.contiguous(*record, false, width);
            let (after, far_after) = self.contiguous(*record, true, width);
            let scattered = before < far_before || after < far_after;
            let reach = &mut self.reaches[*record as usize];
            self.scattered += usize::from(scattered);
            self.scattered -= usize::from(reach.is_scattered());
            let [before, after] = [before, after].map(|count| u16::try_from(count).unwrap_or(0));
            reach.0 = before | (after << 5) | if scattered { Reach::SCATTERED } else { 0 };
        }
        for record in if all { around } else { self.around(around, width) } {
            let near = |of: &dyn Fn(u32) -> bool| {
                let mut both = self.walk(record, false).take(width).chain(self.walk(record, true).take(width));
                of(record) || both.any(of)
            };
            let scattered = near(&|record| self.reaches[record as usize].is_scattered());
            let long = near(&is_long);
            let reach = &mut self.reaches[record as usize].0;
            *reach &= !(Reach::NEAR_SCATTERED | Reach::NEAR_LONG);
            *reach |= if scattered { Reach::NEAR_SCATTERED } else { 0 } | if long { Reach::NEAR_LONG } else { 0 };
        }
    }

    /// The records that have neighbours, or had.
    #[allow(clippy::cast_possible_truncation)] // An index numbers records with 32 bits.
    fn everything(&self) -> Vec<u32> {
        // One that lost its last neighbour still has its old reach.
        let has_any = |record: &u32| {
            self.links[*record as usize] != [NONE; 2] || self.reaches[*record as usize] != Reach::default()
        };
        (0..self.links.len() as u32).filter(has_any).collect()
    }

    /// Records and those near them.
    fn around(&self, records: Vec<u32>, width: usize) -> Vec<u32> {
        let mut around = records;
        for place in 0..around.len() {
            let record = around[place];
            around.extend(self.walk(record, false).take(width));
            around.extend(self.walk(record, true).take(width));
        }
        around.sort_unstable();
        around.dedup();
        around
    }

    /// How many neighbours on one side have the numbers that follow, and how many there are, both up to `width`.
    fn contiguous(&self, record: u32, after: bool, width: usize) -> (usize, usize) {
        let (mut contiguous, mut all) = (0, 0);
        let mut expected = i64::from(record);
        for neighbour in self.walk(record, after).take(width) {
            expected += if after { 1 } else { -1 };
            all += 1;
            if i64::from(neighbour) == expected {
                contiguous += 1;
            } else {
                break;
            }
        }
        (contiguous, all)
    }

    /// The records in an order in which those of a session follow each other, otherwise by their numbers.
    #[must_use]
    pub fn arrangement(&self, rows: &[Row]) -> Vec<u32> {
        let mut order = Vec::with_capacity(rows.len());
        let mut placed = vec![false; rows.len()];
        for (number, row) in (0..).zip(rows) {
            if !row.held || placed[number as usize] {
                continue;
            }
            let alone = [number];
            let members = self.members.get(&row.scope).map_or(&alone[..], Vec::as_slice);
            for member in members {
                placed[*member as usize] = true;
            }
            order.extend_from_slice(members);
        }
        order
    }

    /// Gives records new numbers.
    pub fn renumber(&mut self, numbers: &[u32], records: usize) {
        self.links = vec![[NONE; 2]; records];
        self.reaches = vec![Reach::default(); records];
        (self.scattered, self.changed) = (0, Vec::new());
        for members in self.members.values_mut() {
            for member in members.iter_mut() {
                *member = numbers[*member as usize];
            }
            for pair in members.windows(2) {
                self.links[pair[0] as usize][1] = pair[1];
                self.links[pair[1] as usize][0] = pair[0];
            }
            self.changed.extend_from_slice(members);
        }
    }
}
