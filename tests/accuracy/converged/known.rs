//! Cases that are known to be wrong, by their number, and what is wrong with them. The list can only shrink: a
//! case that has come right must be taken from it.

#[rustfmt::skip]
pub(crate) const WRONG: &[(&str, &[u64])] = &[
    ("At a minimum where a point weighs 1e7 times others, or the scale of the loss is 1e-10: called a failure.", &[
        2334, 3704, 4707, 8814, 9478,
    ]),
    ("In a valley that rounding makes flat, mostly on the way to infinity: called a failure, and the parameters named.", &[
        647, 1145, 3832, 3986, 5576, 5741, 7142, 8033, 8034, 8831, 8975, 9073,
    ]),
    ("A loss that redescends, and points that weigh 1e9 times others or more: called converged.", &[
        1769, 5944, 9679,
    ]),
];
