//! Division of rows into groups.

use std::collections::HashMap;

/// Groups of rows.
#[derive(Debug)]
pub(super) struct Division {
    pub(super) labels: Vec<String>,
    /// All rows, group after group.
    pub(super) rows: Vec<usize>,
    /// Index in `rows` of the beginning of each group, and of the end of the last group.
    pub(super) offsets: Vec<usize>,
}

impl Division {
    /// Groups the rows with equal words. `words`: one word per row.
    pub(super) fn new(words: &[String]) -> Division {
        let mut labels: Vec<String> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut group_of = |word| {
            *known.entry(word).or_insert_with(|| {
                labels.push(String::from(word));
                labels.len() - 1
            })
        };
        let group_of: Vec<usize> = words.iter().map(|word| group_of(word)).collect();
        let mut offsets = vec![0; labels.len() + 1];
        group_of.iter().for_each(|&group| offsets[group + 1] += 1);
        for group in 0..labels.len() {
            offsets[group + 1] += offsets[group];
        }
        let (mut rows, mut next) = (vec![0; words.len()], offsets.clone());
        for (row, group) in group_of.into_iter().enumerate() {
            rows[next[group]] = row;
            next[group] += 1;
        }
        Division { labels, rows, offsets }
    }
}
