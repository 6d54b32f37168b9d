//! The answer: pairs of texts, written out from pairs of classes.

use super::classes::{Classes, NONE, index};
use super::lists::Lists;
use super::team::Pace;
use super::{JoinError, Text};

/// All pairs of texts, in ascending order: the lesser position first, from 0. They are kept as pairs of classes, so that
/// ten thousand copies of one text take no more room than one until they are written out.
#[derive(Debug)]
pub struct Pairs {
    classes: Classes,
    dirty: Vec<bool>,
    /// For each class the others it makes pairs with, where one of their texts comes after its first.
    others: Lists,
    count: u64,
}

impl Pairs {
    /// Every two texts of one class, and of two classes that were found to make a pair; of each two, one is dirty. A pair of
    /// classes is given in each order in which texts of the second follow one of the first.
    pub(super) fn new(
        texts: &[Text<'_>],
        classes: Classes,
        found: Vec<Vec<(u32, u32)>>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Self, JoinError> {
        let others = Lists::by_first(classes.len(), &found, &mut go_on).ok_or(JoinError::Stopped)?;
        drop(found);
        let dirty = texts.iter().map(|text| text.dirty).collect();
        let mut pairs = Self { classes, dirty, others, count: 0 };
        let mut count = 0;
        pairs.visit(go_on, |_, later| {
            count += later.map(<[u32]>::len).sum::<usize>() as u64;
            true
        })?;
        pairs.count = count;
        Ok(pairs)
    }

    /// How many pairs there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Gives each text that comes first in a pair, in ascending order, with the texts that come second, in ascending
    /// order, until `take` says false. `go_on` is asked now and then; when it says false, that is the end.
    ///
    /// # Errors
    ///
    /// [`JoinError::Stopped`] when `go_on` said false.
    pub fn rows(
        &self,
        go_on: impl FnMut() -> bool,
        mut take: impl FnMut(u32, &[u32]) -> bool,
    ) -> Result<(), JoinError> {
        let mut row = Vec::new();
        self.visit(go_on, |text, later| {
            row.clear();
            let mut lists = 0;
            for list in later {
                row.extend_from_slice(list);
                lists += 1;
            }
            if lists > 1 {
                row.sort_unstable();
            }
            row.is_empty() || take(text, &row)
        })
    }

    /// Writes as many pairs as there is room for, the first ones, each as two little-endian numbers of four bytes. What
    /// room is left over stays as it was.
    ///
    /// # Errors
    ///
    /// As for [`Pairs::rows`].
    pub fn write(&self, room: &mut [u8], go_on: impl FnMut() -> bool) -> Result<(), JoinError> {
        let mut places = room.as_chunks_mut::<8>().0.iter_mut();
        self.rows(go_on, |first, seconds| {
            for &second in seconds {
                let Some(place) = places.next() else { return false };
                *place = (u64::from(second) << 32 | u64::from(first)).to_le_bytes();
            }
            true
        })
    }

    /// Gives each text with the later texts it makes a pair with: ascending lists of them, together in no order.
    fn visit(
        &self,
        go_on: impl FnMut() -> bool,
        mut take: impl FnMut(u32, &mut dyn Iterator<Item = &[u32]>) -> bool,
    ) -> Result<(), JoinError> {
        let mut pace = Pace::new(go_on);
        for ((text, &class), &dirty) in self.classes.of.iter().enumerate().zip(&self.dirty) {
            if class == NONE {
                continue;
            }
            let (text, class) = (index(text), class as usize);
            let lists = if dirty { &self.classes.members } else { &self.classes.dirty };
            let later = |class: usize| {
                let list = lists.get(class);
                &list[list.partition_point(|&other| other <= text)..]
            };
            let others = self.others.get(class).iter().map(|&other| other as usize);
            let mut given = 0;
            let mut lists = std::iter::once(class)
                .chain(others)
                .map(later)
                .filter(|list| !list.is_empty())
                .inspect(|list| given += 1 + list.len());
            if !take(text, &mut lists) {
                break;
            }
            if !pace.go_on(given) {
                return Err(JoinError::Stopped);
            }
        }
        Ok(())
    }
}
