//! Cases that are known to be wrong, by their number, and what is wrong with them. The list can only shrink: a
//! case that has come right must be taken from it.

#[rustfmt::skip]
pub(crate) const WRONG: &[(&str, &[u64])] = &[
    ("Even in a parameter, which is at its minimum, and called a failure.", &[
        56, 107, 467, 1004, 1259, 1550, 1623, 1978, 2249, 2500, 3073, 3116, 5527, 5531, 5797, 6172,
        7636, 7671, 8234, 8571, 8716, 8929, 9752,
    ]),
    ("At a minimum, ill-determined, and called a failure.", &[
        647, 942, 1145, 2855, 3986, 4768, 5576, 5741, 7142, 8033, 8034, 8831, 8975, 9073,
    ]),
    ("The arctan loss from far away.", &[
        8609,
    ]),
    ("`ExactFit` where rows are not within their rounding.", &[
        8759,
    ]),
    ("One point far better known than the others.", &[
        1769, 5944, 9679,
    ]),
];
