//! Which disputes are whole, and which hang.

use super::Columns;

impl Columns {
    /// The sides of disputes whose other side is not in the same dispute, sorted.
    #[must_use]
    pub fn hanging(&self) -> Vec<String> {
        let mut rows: Vec<u32> = self.hanging.iter().copied().collect();
        rows.sort_unstable_by_key(|row| self.id_of(*row));
        rows.into_iter().map(|row| self.names.text(row)).collect()
    }

    /// The two sides of every other dispute, the lesser id first, sorted.
    #[must_use]
    pub fn disputes(&self) -> Vec<(String, String)> {
        let sides = |row: &u32| self.rows[*row as usize].sides;
        let mut found: Vec<[u32; 2]> =
            self.disputed.iter().filter_map(|row| sides(row).filter(|sides| sides[0] == *row)).collect();
        found.sort_unstable_by_key(|sides| sides.map(|side| self.id_of(side)));
        found.into_iter().map(|[first, second]| (self.names.text(first), self.names.text(second))).collect()
    }

    /// Sees again whether a row is a side of a whole dispute, or of one that hangs.
    pub(super) fn check_dispute(&mut self, row: u32) {
        let sides = self.rows[row as usize].sides;
        let whole = sides.is_some_and(|sides| {
            let other = sides[usize::from(sides[0] == row)];
            let other = &self.rows[other as usize];
            other.known && other.sides == Some(sides)
        });
        self.disputed.remove(&row);
        self.hanging.remove(&row);
        if whole {
            self.disputed.insert(row);
        } else if sides.is_some() {
            self.hanging.insert(row);
        }
    }
}
