//! Cases that are known to be wrong, by their number, and what is wrong with them. The list can only shrink: a
//! case that has come right must be taken from it. (It grew once, from 19 to 21, when fits that do not converge were first
//! tried with a long first step.) Which cases end in a flat valley is a matter of the last bits,
//! and changes with the order of sums; how many do is not.

#[rustfmt::skip]
pub(crate) const WRONG: &[(&str, &[u64])] = &[
    ("At a minimum where a point weighs 1e7 times others, or the scale of the loss is 1e-10: called a failure.", &[
        165, 2334, 6778, 9478,
    ]),
    ("In a valley that rounding makes flat, mostly on the way to infinity: called a failure, and the parameters named.", &[
        1144, 1470, 2312, 3283, 3592, 3832, 3986, 8033, 8787, 8831, 9073, 9670,
    ]),
    ("A loss that redescends, and points that weigh 1e9 times others or more: called converged.", &[
        1579, 1769, 5944, 9679,
    ]),
];
