//! Cases that are known to be wrong, by their number, and what is wrong with them. The list can only shrink: a
//! case that has come right must be taken from it.

#[rustfmt::skip]
pub(crate) const WRONG: &[(&str, &[u64])] = &[
    ("At a minimum where a point weighs a thousand million times others, or whose scale is 1e-10, and called a failure.", &[
        2334, 3704, 4707, 8814,
    ]),
    ("At a minimum, ill-determined, and called a failure.", &[
        1145,
    ]),
    ("A loss that redescends, and points that weigh 1e9 times others or more.", &[
        1769, 5944, 9679,
    ]),
];
