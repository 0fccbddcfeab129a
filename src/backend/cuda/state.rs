//! How a fit lies in the memory of a device: `State` of `kernels/solver_state.cuh`, in words of 8 bytes.

use std::ops::Range;

/// Differences that the mixing of steps keeps.
const DEPTH: usize = 4;

/// Words of the sums of a pass for `n` free parameters: products and cost.
pub(crate) fn sums(n: usize) -> usize {
    (n + 1) * (n + 2) / 2 + 1
}

/// Writes the places of all members, in the order of the text.
macro_rules! layout {
    ($n:ident, $p:ident: $($name:ident: $words:expr,)*) => {
        /// The places of the members of a `State`, and its size.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct Layout {
            /// Free parameters.
            pub(crate) n: usize,
            /// Parameters.
            pub(crate) p: usize,
            $(pub(crate) $name: Range<usize>,)*
            pub(crate) words: usize,
        }

        impl Layout {
            /// For `n` free parameters, at least 1, of `p`.
            pub(crate) fn new($n: usize, $p: usize) -> Layout {
                let mut words = 0;
                $(let $name = words..words + $words; words = $name.end;)*
                Layout { $n, $p, $($name,)* words }
            }

            /// Names and places in order.
            #[cfg(test)]
            fn members(&self) -> Vec<(&'static str, Range<usize>)> {
                vec![$((stringify!($name), self.$name.clone())),*]
            }
        }
    };
}

layout! { n, p:
    request: 1,
    phase: 1,
    termination: 1,
    evaluations: 1,
    factorisations: 1,
    iterations: 1,
    reported: 1,
    cost: 1,
    step: 1,
    damping: 1,
    present_params: p,
    present_q: n,
    present_sums: sums(n),
    trial_params: p,
    trial_q: n,
    trial_sums: sums(n),
    best_params: p,
    best_q: n,
    best_sums: sums(n),
    r: n * n,
    z: n,
    norms: n,
    gradient: n,
    moving: 1,
    scale: n,
    radius: 1,
    lambda: 1,
    delta: n,
    limits_low: n,
    limits_high: n,
    effects: n,
    fall: 1,
    change: 1,
    shortenings: 1,
    length: 1,
    cut: 1,
    full: 1,
    actual: 1,
    predicted: 1,
    ratio: 1,
    small: 1,
    reason: 1,
    refinements: 1,
    moving_before: 1,
    at_best: 1,
    best_change: 1,
    refined_change: 1,
    ceiling: 1,
    held: 1,
    points: n * (DEPTH + 1),
    steps: n * (DEPTH + 1),
    limit: 1,
    earlier: 1,
    stopped: 1,
    rescaled: 1,
    scaling: 1,
    points_counted: 1,
    ftol: 1,
    xtol: 1,
    gtol: 1,
    initial_radius: 1,
    rounding: 1,
    square: 1,
    bulk: 1,
    floor: 1,
    columns: n,
    lower: n,
    upper: n,
    free: n,
    unused: n,
}

impl Layout {
    /// Words of the `Scratch` that follows the state.
    pub(crate) fn scratch_words(&self) -> usize {
        let n = self.n;
        let model = (n + 1) * (2 * n + 1);
        let mixing = (n + DEPTH + 1) * (DEPTH + 1) + DEPTH * (DEPTH + 1);
        n * n + model.max(mixing) + 6 * n
    }

    /// What tells where the fit stands: the words up to the present parameters.
    pub(crate) fn head(&self) -> Range<usize> {
        0..self.present_params.end
    }
}

/// A state as the host sees it.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) layout: Layout,
    pub(crate) words: Vec<u64>,
}

impl State {
    /// All zeros.
    pub(crate) fn new(layout: Layout) -> State {
        State { words: vec![0; layout.words], layout }
    }

    pub(crate) fn set(&mut self, at: &Range<usize>, values: impl IntoIterator<Item = f64>) {
        self.words[at.clone()].iter_mut().zip(values).for_each(|(word, v)| *word = v.to_bits());
    }

    pub(crate) fn set_counts(
        &mut self,
        at: &Range<usize>,
        values: impl IntoIterator<Item = usize>,
    ) {
        self.words[at.clone()].iter_mut().zip(values).for_each(|(word, v)| *word = v as u64);
    }

    pub(crate) fn numbers(&self, at: &Range<usize>) -> Vec<f64> {
        self.words[at.clone()].iter().map(|&word| f64::from_bits(word)).collect()
    }

    pub(crate) fn number(&self, at: &Range<usize>) -> f64 {
        f64::from_bits(self.words[at.start])
    }

    pub(crate) fn count(&self, at: &Range<usize>) -> usize {
        self.words[at.start] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, sums};

    const TEXT: &str = include_str!("../../../kernels/solver_state.cuh");

    /// The members of a structure of the text, each with the C++ expression of its length.
    fn declared(structure: &str) -> Vec<(String, String)> {
        let body = TEXT.split_once(&format!("struct {structure} {{")).expect("a structure").1;
        let body = body.split_once("};").expect("its end").0;
        let mut members = Vec::new();
        for line in body.lines() {
            let code = line.split("//").next().unwrap_or("").trim();
            let Some((kind, name)) = code.trim_end_matches(';').split_once(' ') else { continue };
            match (kind, name.split_once('[')) {
                ("Place", None) => members
                    .extend(declared("Place").into_iter().map(|(n, l)| (format!("{name}_{n}"), l))),
                ("i64" | "double", Some((name, length))) => {
                    members.push((name.into(), length.trim_end_matches(']').into()));
                }
                ("i64" | "double", None) => members.push((name.into(), "1".into())),
                other => panic!("{other:?} is no member of 8 bytes"),
            }
        }
        members
    }

    #[test]
    fn the_layout_is_that_of_the_kernels() {
        let (n, p) = (5, 7);
        let length = |expression: &str| match expression {
            "1" => 1,
            "FREE" => n,
            "PARAMS" => p,
            "SUMS" => sums(n),
            "FREE * FREE" => n * n,
            "FREE * (DEPTH + 1)" => 5 * n,
            other => panic!("{other}"),
        };
        let layout = Layout::new(n, p);
        let mut at = 0;
        let mut expected = Vec::new();
        for (name, expression) in declared("State") {
            let words = length(&expression);
            expected.push((name, at..at + words));
            at += words;
        }
        let found: Vec<_> =
            layout.members().into_iter().map(|(name, place)| (name.to_owned(), place)).collect();
        assert_eq!(found, expected);
        assert_eq!(layout.words, at);
    }
}
