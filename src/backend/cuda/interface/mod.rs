//! Sizes, codes, tolerances and structures that Rust and CUDA share. Each is defined once, here or in
//! [`constants`](crate::constants), and every translation unit begins with its declaration in C++.

mod structures;

use crate::constants;
use crate::data::loss::{Estimator, Loss};
use std::ops::Range;
pub(crate) use structures::{
    BatchLayout, DataLayout, Layout, Member, ScratchLayout, Size, inputs_by_value, sums,
};
use structures::{member, opening};

/// Declares an enumeration in Rust and in C++, where `BadData` is `BAD_DATA`.
macro_rules! codes {
    ($($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $doc:literal])* $code:ident,)+ })+) => {
        $(
            $(#[doc = $about])+
            #[allow(dead_code, reason = "kernels have codes that the host never reads")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) enum $name {
                $($(#[doc = $doc])* $code,)+
            }

            impl Code for $name {
                fn from_word(word: u64) -> Option<$name> {
                    let known = usize::try_from(word).ok();
                    known.and_then(|word| [$($name::$code),+].get(word).copied())
                }
            }

            impl Word for $name {
                fn word(self) -> u64 {
                    self as u64
                }
            }
        )+

        fn declare_codes(text: &mut String) {
            $(
                opening(text, concat!($($about),+), "enum", concat!(stringify!($name), " : i64"));
                $(member(text, &constant_case(stringify!($code)), ",", concat!("" $(, $doc)*));)+
                text.push_str("};\n");
            )+
        }
    };
}

codes! {
    /// Request of a fit.
    Request {
        /// Nothing: the device is computing the next step.
        Continue,
        /// The sums at the trial's parameters.
        Evaluate,
        /// The triangular factor of [J r] at the present parameters.
        Factor,
        /// A start whose sums are not finite or not safe: the host computes column factors, or ends the fit.
        Host,
        /// Nothing: the fit has ended.
        Done,
    }

    /// Reason of the end of a fit, as in the enum Termination, or the state of a fit of a batch.
    Reason {
        /// The fit has not ended. In a batch, the host computes this fit.
        None,
        Gradient,
        Cost,
        Step,
        ExactFit,
        NoProgress,
        MaxEvaluations,
        ModelNonFinite,
        ZeroGradientAtStart,
        Degenerate,
        /// A sample is not finite; only in batches.
        BadData,
    }

    /// Scaling of the columns relative to each other.
    Scaling {
        /// Scaling by the largest norm seen so far.
        Monotone,
        /// Scaling by the present norm.
        Present,
    }

    /// Loss function of a residual.
    Rule {
        /// The square of the residual.
        Linear,
        SoftL1,
        Huber,
        Cauchy,
        Arctan,
        Tukey,
        /// A loss of the caller.
        Custom,
        /// The likelihood of counts.
        Poisson,
    }

    /// Layout of the standard deviations of the samples of a batch.
    SigmaOf {
        /// One for all samples, or no standard deviation.
        NoSigma,
        /// One per fit.
        OfFit,
        /// One per point, the same for all fits.
        OfPoint,
        /// One per sample.
        OfSample,
    }
}

impl Rule {
    pub(crate) fn of(loss: Loss, estimator: Estimator) -> Rule {
        match loss {
            _ if estimator == Estimator::Poisson => Rule::Poisson,
            Loss::Linear => Rule::Linear,
            Loss::SoftL1 { .. } => Rule::SoftL1,
            Loss::Huber { .. } => Rule::Huber,
            Loss::Cauchy { .. } => Rule::Cauchy,
            Loss::Arctan { .. } => Rule::Arctan,
            Loss::Tukey { .. } => Rule::Tukey,
            Loss::Custom { .. } => Rule::Custom,
        }
    }
}

/// Converts a name to the case of C++ constants, for example `ExactFit` to `EXACT_FIT`.
fn constant_case(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(c.to_ascii_uppercase());
    }
    text
}

/// Number of words of `counts` in the results of a fit.
pub(crate) const COUNTS: usize = 5;

/// Number of columns of the square tiles of products that a block computes if there are many parameters.
pub(crate) const GRAM_COLUMNS: usize = 32;

/// Declares constants, codes and structures in C++, after the constants of a [`Size`].
pub(crate) fn declare(text: &mut String, size: Size) {
    text.push_str("#line 1 \"interface.rs\"\n");
    constants::declare(text);
    *text += &format!("[[maybe_unused]] constexpr int COUNTS = {COUNTS};\n");
    *text += &format!("[[maybe_unused]] constexpr int GRAM_COLUMNS = {GRAM_COLUMNS};\n");
    declare_codes(text);
    structures::declare(text);
    structures::declare_inputs(text, size);
}

/// A value of the size of one word.
pub(crate) trait Word {
    fn word(self) -> u64;
}

/// Value of an enumeration that Rust and the kernels share.
pub(crate) trait Code: Word + Sized {
    /// Returns the value of a word; `None` if no kernel writes this word.
    fn from_word(word: u64) -> Option<Self>;
}

macro_rules! words {
    ($($kind:ty: $value:ident => $word:expr,)+) => {
        $(impl Word for $kind {
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        })+
    };
}

words! {
    f64: v => v.to_bits(),
    u64: v => v,
    usize: v => v as u64,
    bool: v => u64::from(v),
}

/// A structure that the host writes and reads as words.
#[derive(Clone, Debug)]
pub(crate) struct Filled<L> {
    pub(crate) layout: L,
    pub(crate) words: Vec<u64>,
}

/// Returns the size of a structure, in words.
pub(crate) fn words<L: Member>(size: Size) -> usize {
    L::place(0, 1, size).1
}

impl<L: Member<Place = L>> Filled<L> {
    /// Creates a structure of zeros.
    pub(crate) fn new(size: Size) -> Filled<L> {
        let (layout, words) = L::place(0, 1, size);
        Filled { layout, words: vec![0; words] }
    }

    pub(crate) fn set(&mut self, at: &Range<usize>, values: impl IntoIterator<Item = impl Word>) {
        self.words[at.clone()].iter_mut().zip(values).for_each(|(word, v)| *word = v.word());
    }
}

#[cfg(test)]
mod tests {
    use super::structures::MixingLayout;
    use super::*;
    use crate::constants::DEPTH;

    #[test]
    fn codes_are_named_alike_in_both_languages() {
        assert_eq!(constant_case("ZeroGradientAtStart"), "ZERO_GRADIENT_AT_START");
        assert_eq!(constant_case("SoftL1"), "SOFT_L1");
        let mut text = String::new();
        declare(&mut text, Size { columns: 2, params: 7, free: 5 });
        assert!(
            text.is_ascii() && text.contains("enum Request : i64 {\n    CONTINUE,  // Nothing"),
            "{text}"
        );
        assert_eq!(Request::from_word(Request::Host.word()), Some(Request::Host));
        assert_eq!(Request::from_word(5), None);
    }

    /// The arguments of a kernel have at most 4 kB.
    #[test]
    fn arguments_of_a_kernel_have_room_for_what_comes_by_value() {
        for columns in [1, 200, 352, 353, 450] {
            for numbers in [2, 6, 64, 128, 129, 600] {
                let size = Size { columns, params: numbers / 2, free: numbers - numbers / 2 };
                let inputs = if inputs_by_value(size) { numbers } else { 2 };
                let bytes = 8 * (words::<DataLayout>(size) + inputs + 8);
                assert!(bytes <= 4096, "{columns} {numbers}: {bytes}");
            }
        }
        assert!(inputs_by_value(Size { columns: 2, params: 5, free: 5 }));
    }

    #[test]
    fn structures_lie_as_they_are_declared() {
        let size = Size { columns: 2, params: 7, free: 5 };
        let layout = Layout::place(0, 1, size).0;
        assert_eq!((layout.request.clone(), layout.iterations.clone()), (0..1, 4..5));
        let (present, trial) = (&layout.present, &layout.trial);
        assert_eq!((present.params.clone(), present.q.clone()), (5..12, 12..17));
        assert_eq!((present.sums.len(), trial.params.start), (sums(5), present.sums.end));
        assert_eq!(
            (layout.mixing.points.len(), layout.unused.end),
            (5 * (DEPTH + 1), layout.words)
        );
        let mut text = String::new();
        Layout::declare(&mut text);
        MixingLayout::declare(&mut text);
        let lines = [
            "    i64 request;  // ",
            "    Place trial;  // ",
            "    Number points[FREE * (DEPTH + 1)];  // ",
        ];
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
        assert_eq!(words::<DataLayout>(Size { columns: 0, ..size }), 6, "C++ has no empty arrays");
    }
}
