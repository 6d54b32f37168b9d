//! Many short lists in one allocation.

/// Lists of numbers, one after another.
#[derive(Debug, Default)]
pub struct Lists {
    items: Vec<u32>,
    /// Where each list ends.
    ends: Vec<usize>,
}

impl Lists {
    /// `count` lists of the pairs' second numbers by their first, which are below `count`; each in the order given.
    /// `go_on` is asked after every part; `None` when it says false.
    pub fn by_first(count: usize, parts: &[Vec<(u32, u32)>], mut go_on: impl FnMut() -> bool) -> Option<Self> {
        // Each end starts as the place where its list begins, and moves on as the list is filled.
        let mut ends = vec![0; count];
        for part in parts {
            for &(first, _) in part {
                ends[first as usize] += 1;
            }
            if !go_on() {
                return None;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            sum += std::mem::replace(end, sum);
        }
        let mut items = vec![0; sum];
        for part in parts {
            for &(first, second) in part {
                let end = &mut ends[first as usize];
                items[*end] = second;
                *end += 1;
            }
            if !go_on() {
                return None;
            }
        }
        Some(Self { items, ends })
    }

    /// Appends a list.
    #[cfg(test)]
    pub fn push(&mut self, items: &[u32]) {
        self.items.extend_from_slice(items);
        self.ends.push(self.items.len());
    }

    /// Appends lists given as one run of items and the length of each.
    pub fn append(&mut self, items: &[u32], lengths: &[u32]) {
        let mut end = self.items.len();
        self.items.extend_from_slice(items);
        self.ends.extend(lengths.iter().map(|&length| {
            end += length as usize;
            end
        }));
    }

    /// Makes room for what will be appended.
    pub fn reserve(&mut self, items: usize, lists: usize) {
        self.items.reserve_exact(items);
        self.ends.reserve_exact(lists);
    }

    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The list at `index`.
    pub fn get(&self, index: usize) -> &[u32] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.items[start..self.ends[index]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_what_was_put_in() {
        let parts = [vec![(2, 7), (0, 1), (2, 5)], vec![], vec![(0, 9)]];
        assert!(Lists::by_first(4, &parts, || false).is_none());
        let mut lists = Lists::by_first(4, &parts, || true).unwrap();
        lists.push(&[3]);
        lists.append(&[8, 6], &[0, 2]);
        let all: Vec<_> = (0..lists.len()).map(|index| lists.get(index)).collect();
        assert_eq!(all, [&[1, 9][..], &[], &[7, 5], &[], &[3], &[], &[8, 6]]);
    }
}
