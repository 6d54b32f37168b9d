//! The opposed pairs of a few records, found from these.

use hashbrown::HashSet;

use super::Columns;
use super::rows::Text;

/// More pairs than this are not gathered: then it is no more work to walk over the whole groups.
const MOST: usize = 1 << 20;

impl Columns {
    /// The opposed pairs, as texts, with one of some texts; nothing when there are too many to gather.
    pub(super) fn opposed_to(&self, texts: &[u32]) -> Option<Vec<(u32, u32)>> {
        let mut pairs = Vec::new();
        let mut partners = HashSet::new();
        for number in texts {
            let Some(text) = self.text(*number) else { continue };
            partners.clear();
            self.denials_of(text, |other| {
                partners.insert(other);
            });
            self.clashes_of(*number, text, |other| {
                partners.insert(other);
            });
            pairs.extend(partners.iter().map(|other| self.in_order(text, *number, *other)));
            if pairs.len() > MOST {
                return None;
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        Some(pairs)
    }

    fn in_order(&self, text: &Text, number: u32, other: u32) -> (u32, u32) {
        let later = self.text(other).is_some_and(|other| self.id_of(other.row) > self.id_of(text.row));
        if later { (number, other) } else { (other, number) }
    }
}
