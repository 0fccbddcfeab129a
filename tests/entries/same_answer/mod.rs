//! Every entry gives the same result for the same problem: a single fit, a batch of one and of many, a stream in odd
//! chunks, `multi_start` with one start, and a joint fit of one set. The unit tests of the crate compare the emulated device.
//!
//! The oracle is the single fit, which has oracles of its own.

mod entries;
mod known;

use crate::support::questions::{Answer, Nearness, Question, questions};
use entries::ENTRIES;
use known::DIFFERENT;
use rayon::prelude::*;
use std::collections::BTreeSet;

#[test]
fn questions_have_names_of_their_own() {
    let all = questions();
    let names: BTreeSet<&str> = all.iter().map(|q| q.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    assert!(all.len() >= 128, "{}", all.len());
    let listed = DIFFERENT.iter().flat_map(|(_, pairs)| pairs.iter());
    for (question, entry) in listed {
        assert!(names.contains(question), "no question is called {question}");
        assert!(ENTRIES.iter().any(|e| e.name == *entry), "no entry is called {entry}");
    }
}

#[test]
fn every_entry_gives_the_answer_of_a_fit_alone() {
    let found: Vec<(String, &str, Option<String>)> =
        questions().par_iter().flat_map_iter(differences).collect();
    let asked = found.len();
    let known = |question: &str, entry: &str| {
        DIFFERENT.iter().any(|(_, pairs)| pairs.contains(&(question, entry)))
    };
    let (mut wrong, mut mended) = (Vec::new(), Vec::new());
    for (question, entry, difference) in &found {
        match (difference, known(question, entry)) {
            (Some(difference), listed) => {
                let mark = if listed { " (known)" } else { "" };
                println!("{question}, {entry}{mark}: {difference}");
                if !listed {
                    wrong.push((question, entry));
                }
            }
            (None, true) => mended.push((question, entry)),
            (None, false) => {}
        }
    }
    println!("{asked} answers, {} differ", found.iter().filter(|f| f.2.is_some()).count());
    assert!(wrong.is_empty(), "{} answers differ: {wrong:#?}", wrong.len());
    assert!(mended.is_empty(), "delete these from the list of differences: {mended:#?}");
}

/// For each entry that supports the problem, the difference of its result from a single fit, if there is one.
fn differences(question: &Question) -> Vec<(String, &'static str, Option<String>)> {
    let alone = question.alone();
    let mut of_one: Option<Answer> = None;
    let mut found = Vec::new();
    for entry in &ENTRIES {
        let Some(answer) = (entry.ask)(question) else { continue };
        let near = if question.is_native() { entries::CLOSE } else { entry.near };
        let mut difference = alone.differs(&answer, near);
        // A fit of a batch has the same bits for any neighbours.
        if entry.name == entries::BATCH_OF_MANY
            && let (None, Some(one)) = (&difference, &of_one)
        {
            difference = one.differs(&answer, Nearness::Bits);
        }
        found.push((question.name.clone(), entry.name, difference));
        if entry.name == entries::BATCH_OF_ONE {
            of_one = Some(answer);
        }
    }
    found
}
