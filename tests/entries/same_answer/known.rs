//! Answers that are known to differ, by question and entry, and why. The list can only shrink: an answer that
//! has come right must be taken from it.

#[rustfmt::skip]
pub(crate) const DIFFERENT: &[(&str, &[(&str, &str)])] = &[
    ("A search in the nonlinear parameters alone, after a start by name failed, is made by `fit` alone.", &[
        ("a decay by name from b = -8", "a batch of one"),
        ("a decay by name from b = -8", "a batch of many"),
        ("a decay by name from b = -8", "a stream in odd chunks"),
        ("a decay by name from b = -8", "a stream from a sample"),
        ("a decay by name from b = -8", "many starts, one of them"),
        ("a decay by name from b = -8", "a joint fit of one set"),
        ("a decay by name from b = -8", "the set of a joint fit of one"),
        ("two decays by name from near ones", "a batch of one"),
        ("two decays by name from near ones", "a batch of many"),
        ("two decays by name from near ones", "a stream in odd chunks"),
        ("two decays by name from near ones", "a stream from a sample"),
        ("two decays by name from near ones", "many starts, one of them"),
        ("two decays by name from near ones", "a joint fit of one set"),
        ("two decays by name from near ones", "the set of a joint fit of one"),
    ]),
];
