//! Rows of items without an allocation for each, and small numbers for the words of one group.

use super::words::{NONE, count};

/// Rows of items, one after another.
#[derive(Debug)]
pub struct Grid<T> {
    /// Where each row begins, and where the last one ends.
    starts: Vec<usize>,
    items: Vec<T>,
}

impl<T> Default for Grid<T> {
    fn default() -> Self {
        Self { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy + Default> Grid<T> {
    /// Adds a row.
    pub fn push(&mut self, row: &[T]) {
        self.items.extend_from_slice(row);
        self.starts.push(self.items.len());
    }

    /// So many rows, with the second of each pair in the row of the first, in the order of the pairs.
    pub fn by_first(rows: usize, pairs: &[(u32, T)]) -> Self {
        let mut starts = vec![0; rows + 1];
        for (row, _) in pairs {
            starts[*row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut items = vec![T::default(); pairs.len()];
        for (row, item) in pairs {
            let place = &mut next[*row as usize];
            items[*place] = *item;
            *place += 1;
        }
        Self { starts, items }
    }

    pub fn is_empty(&self) -> bool {
        self.starts.len() == 1
    }

    pub fn get(&self, row: u32) -> &[T] {
        let row = row as usize;
        &self.items[self.starts[row]..self.starts[row + 1]]
    }
}

/// Numbers from 0 for the words of one group, group after group.
#[derive(Debug)]
pub struct Local {
    numbers: Vec<u32>,
    words: Vec<u32>,
}

impl Local {
    /// For words below a limit.
    pub fn new(limit: usize) -> Self {
        Self { numbers: vec![NONE; limit], words: Vec::new() }
    }

    /// The number of a word, the next one when it is new.
    pub fn number(&mut self, word: u32) -> u32 {
        let number = &mut self.numbers[word as usize];
        if *number == NONE {
            *number = count(self.words.len());
            self.words.push(word);
        }
        *number
    }

    /// Forgets all numbers.
    pub fn clear(&mut self) {
        for word in self.words.drain(..) {
            self.numbers[word as usize] = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_again() {
        let grid = Grid::by_first(3, &[(2, 7), (0, 1), (2, 5)]);
        assert_eq!([grid.get(0), grid.get(1), grid.get(2)], [&[1][..], &[], &[7, 5]]);
        let mut grid = Grid::default();
        grid.push(&[4, 5]);
        grid.push(&[]);
        assert_eq!([grid.get(0), grid.get(1)], [&[4, 5][..], &[]]);
    }

    #[test]
    fn words_are_numbered_as_they_come() {
        let mut local = Local::new(9);
        assert_eq!([8, 3, 8].map(|word| local.number(word)), [0, 1, 0]);
        local.clear();
        assert_eq!(local.number(3), 0);
    }
}
