//! Serialized form of a profile: its nodes, and the better fit if a refit found one.

use super::Profile;
use super::interval::ProfileEnd;
use super::interval::ProfileNode;
use crate::error::Result;
use crate::fit::Fit;
use crate::fit::distributions::check_level;
use crate::fit::saved::SavedFit;
use crate::saved::{Saved, check_index, exact, move_fields, saved};

saved! {
    /// The mirror of a profile.
    #[serde(rename = "Profile")]
    "profile": struct SavedProfile of profile: Profile {
        name: String,
        nodes: Vec<ProfileNode>,
        best: usize,
        ends: [ProfileEnd; 2],
        #[serde(with = "exact")] level: f64,
        #[serde(default, with = "exact")] dof: Option<f64>,
        better: Option<Box<SavedFit>> = profile.better.map(|better| Box::new((*better).into())),
    }
}

impl Profile {
    /// Returns the profile as JSON, with all numbers exact to the last bit. The profile that
    /// [`from_json`](Profile::from_json) restores has the same intervals, without a refit. `Profile` implements the
    /// traits of `serde`, so that other formats can also be used.
    ///
    /// # Errors
    /// No error in practice: every profile can be written.
    #[inline]
    pub fn to_json(&self) -> Result<String> {
        self.write()
    }

    /// Restores a profile from the output of [`to_json`](Profile::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`](crate::Error::Saved) for text that is not a saved profile, an unknown version, arrays of wrong
    /// lengths, or values that do not ascend; [`Error::BadOption`](crate::Error::BadOption) for a level that is not a
    /// probability.
    #[inline]
    pub fn from_json(text: &str) -> Result<Profile> {
        Profile::read(text)
    }
}

impl SavedProfile {
    fn checked(self) -> Result<Profile> {
        check_level(self.level)?;
        check_index("`best` of the saved profile", "node", self.best, self.nodes.len())?;
        let p = self.nodes[self.best].params.len();
        for node in &self.nodes {
            Profile::expect("params of a node", node.params.len(), p)?;
        }
        if !self.nodes.is_sorted_by(|a, b| a.value <= b.value) {
            return Err(Profile::malformed("the values of its nodes do not ascend"));
        }
        if self.dof.is_some_and(|dof| !(dof > 0.0 && dof.is_finite())) {
            return Err(Profile::malformed("its degrees of freedom are no positive number"));
        }
        let better = self.better.map(|better| Fit::try_from(*better)).transpose()?;
        if let Some(better) = &better {
            Profile::expect("params of the better fit", better.params().len(), p)?;
        }
        let better = better.map(Box::new);
        Ok(move_fields!(Profile { better, } from self { name, nodes, best, ends, level, dof }))
    }
}
