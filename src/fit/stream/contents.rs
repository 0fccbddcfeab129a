//! Contents of a checkpoint of a stream: totals over the points, the starting point, and the
//! results of all passes. A fit that resumes with these results makes the same steps, to the bit.
//!
//! The bytes have the `postcard` format, in which floats keep their bits.

use crate::backend::stream::{FirstPass, PassCache, PassResult, from_bytes, to_bytes};
use crate::data::sample::Sample;
use crate::data::summary::Overview;
use crate::data::tree::Tree;
use crate::data::validate_stream::pieces_of;
use crate::fit::subsample_start::SubsampleStart;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Contents of a checkpoint: borrowed for writing, owned after reading.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Contents<'a> {
    /// A first pass that was stopped.
    First(Cow<'a, FirstPass>),
    /// A fit after its first pass. `distinct`: number of different points, as far as they were counted; `passes`:
    /// number of completed passes.
    Opened {
        overview: Overview,
        distinct: usize,
        passes: usize,
        opening: Cow<'a, SubsampleStart>,
        cache: Cow<'a, PassCache>,
    },
}

impl Contents<'_> {
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        to_bytes(self)
    }

    /// Reads the contents for a fit with `free` free parameters.
    ///
    /// # Errors
    /// A message if the bytes cannot be the contents of a checkpoint of such a fit.
    pub(crate) fn from_bytes(bytes: &[u8], free: usize) -> Result<Contents<'static>, String> {
        let contents = from_bytes::<Contents<'static>>(bytes)?;
        match contents.is_sound(free) {
            true => Ok(contents),
            false => Err(format!("its sums are not those of a fit of {free} free parameter(s)")),
        }
    }

    /// Returns true if all sums match the number of free parameters and their number of points. A stopped pass ends
    /// between two chunks, and all chunks except the last consist of whole pieces (fixed numbers of points, whose sums
    /// are merged in order).
    fn is_sound(&self, free: usize) -> bool {
        match self {
            Contents::First(first) => {
                first.is_sound(0..first.next)
                    && first.sums.iter().flat_map(Tree::sums).all(|sums| sums.is_of(free))
            }
            Contents::Opened { cache, opening, .. } => {
                let has_sound_sample = opening.tested.as_ref().is_none_or(Sample::is_sound);
                let unfinished = cache.unfinished.as_ref().is_none_or(|pass| {
                    pass.sums.is_whole(0..pieces_of(pass.next)) && pass.sums.is_of(free)
                });
                has_sound_sample
                    && unfinished
                    && cache.results.iter().all(|(_, result)| match result {
                        PassResult::Normal(normal) => normal.is_of(free),
                        PassResult::Factor(factor) => factor.is_of(free),
                    })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::stream::{Answer, PassKey, Unfinished};
    use crate::data::loss::Estimator;
    use crate::data::loss::Loss;
    use crate::normal::{Influence, Normal, RFactor, Tree};
    use proptest::prelude::*;

    /// Numbers whose bits a format may lose: NaN with a payload and a sign, −0, a subnormal.
    const ODD: [u64; 4] = [0x7ff8_0000_0000_1234, 0xfff0_0000_0000_0001, 1 << 63, 1];

    fn odd() -> Vec<f64> {
        ODD.map(f64::from_bits).to_vec()
    }

    fn opened() -> Contents<'static> {
        let key = PassKey {
            loss: Loss::Huber { scale: 0.5 },
            most_weight: 2.0,
            params: odd(),
            columns: vec![1.0; 4],
        };
        let normal = Normal::of(1, vec![1.0, -0.0, f64::NAN], 7.0);
        let factor = RFactor::of(1, odd(), Influence::default());
        let unfinished =
            Unfinished { key: key.clone(), sums: Answer::Normal(Tree::new(0)), next: 0 };
        let results =
            vec![(key.clone(), PassResult::Normal(normal)), (key, PassResult::Factor(factor))];
        Contents::Opened {
            overview: Overview::unknown(Estimator::Poisson),
            distinct: 3,
            passes: 2,
            opening: Cow::Owned(SubsampleStart::none(100, "none was asked for")),
            cache: Cow::Owned(PassCache { results, unfinished: Some(Box::new(unfinished)) }),
        }
    }

    fn first() -> Contents<'static> {
        Contents::First(Cow::Owned(FirstPass::new(Sample::new(2, true, 100), true, 0)))
    }

    #[test]
    fn what_is_written_is_read_to_the_bit_and_no_part_of_it() {
        for contents in [opened(), first()] {
            let bytes = contents.to_bytes().unwrap();
            let again = Contents::from_bytes(&bytes, 1).unwrap();
            assert_eq!(again.to_bytes().unwrap(), bytes);
            for length in 0..bytes.len() {
                assert!(Contents::from_bytes(&bytes[..length], 1).is_err(), "cut to {length}");
            }
            let longer = [&bytes[..], &[0, 0]].concat();
            let why = Contents::from_bytes(&longer, 1).err().unwrap();
            assert_eq!(why, "2 bytes are left over after its contents");
        }
        let bytes = opened().to_bytes().unwrap();
        let why = Contents::from_bytes(&bytes, 2).err().unwrap();
        assert_eq!(why, "its sums are not those of a fit of 2 free parameter(s)");
        let Contents::Opened { cache, .. } = Contents::from_bytes(&bytes, 1).unwrap() else {
            panic!("it was opened");
        };
        let bits: Vec<u64> = cache.results[0].0.params.iter().map(|p| p.to_bits()).collect();
        assert_eq!(bits, ODD);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(
            garbage in prop::collection::vec(prop_oneof![Just(0u8), Just(0xffu8), any::<u8>()], 0..200),
            at in any::<usize>(),
        ) {
            let _ = Contents::from_bytes(&garbage, 1);
            for contents in [opened(), first()] {
                let mut bytes = contents.to_bytes().unwrap();
                let at = at % bytes.len();
                let end = bytes.len().min(at + garbage.len());
                bytes[at..end].copy_from_slice(&garbage[..end - at]);
                let _ = Contents::from_bytes(&bytes, 1);
            }
        }
    }
}
