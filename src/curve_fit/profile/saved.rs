//! Serialized form of a profile: its nodes, and the better fit if a refit found one.

use super::Profile;
use super::interval::ProfileEnd;
use super::walk::ProfileNode;
use crate::error::saved::SavedError;
use crate::error::{Error, Result};
use crate::fit::Fit;
use crate::fit::distributions::check_level;
use crate::fit::saved::SavedFit;
use crate::model::exact::{Exact, exact, plain};
use crate::model::json::{read, write};
use crate::model::saved::{check_index, check_version, expect};
use serde::{Deserialize, Serialize};

const VERSION: u32 = 1;

/// The mirror of a profile.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename = "Profile")]
pub(super) struct SavedProfile {
    version: u32,
    name: String,
    nodes: Vec<SavedNode>,
    best: usize,
    ends: [ProfileEnd; 2],
    level: Exact,
    dof: Option<Exact>,
    better: Option<Box<SavedFit>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct SavedNode {
    value: Exact,
    excess: Exact,
    params: Vec<Exact>,
}

impl Profile {
    /// Returns the profile as JSON, with all numbers exact to the last bit. The profile that
    /// [`from_json`](Profile::from_json) restores has the same intervals, without a refit. `Profile` implements the
    /// traits of `serde`, so that other formats can also be used.
    ///
    /// # Errors
    /// No error in practice: every profile can be written.
    pub fn to_json(&self) -> Result<String> {
        write(&SavedProfile::from(self.clone()), "profile")
    }

    /// Restores a profile from the output of [`to_json`](Profile::to_json).
    ///
    /// # Errors
    /// [`Error::Saved`] for text that is not a saved profile, an unknown version, arrays of wrong lengths, or
    /// values that do not ascend; [`Error::BadOption`] for a level that is not a probability.
    pub fn from_json(text: &str) -> Result<Profile> {
        read::<SavedProfile>(text, "profile", VERSION)?.try_into()
    }
}

impl From<Profile> for SavedProfile {
    fn from(profile: Profile) -> SavedProfile {
        let node = |ProfileNode { value, excess, params }: ProfileNode| SavedNode {
            value: Exact(value),
            excess: Exact(excess),
            params: exact(&params),
        };
        SavedProfile {
            version: VERSION,
            name: profile.name,
            nodes: profile.nodes.into_iter().map(node).collect(),
            best: profile.best,
            ends: profile.ends,
            level: Exact(profile.level),
            dof: profile.dof.map(Exact),
            better: profile.better.map(|better| Box::new(SavedFit::from(*better))),
        }
    }
}

impl TryFrom<SavedProfile> for Profile {
    type Error = Error;
    fn try_from(saved: SavedProfile) -> Result<Profile> {
        check_version("profile", saved.version, VERSION)?;
        check_level(saved.level.0)?;
        check_index("`best` of the saved profile", "node", saved.best, saved.nodes.len())?;
        let p = saved.nodes[saved.best].params.len();
        let node = |saved: SavedNode| -> Result<ProfileNode> {
            expect("profile", "params of a node", saved.params.len(), p)?;
            let (value, excess) = (saved.value.0, saved.excess.0);
            Ok(ProfileNode { value, excess, params: plain(&saved.params) })
        };
        let nodes = saved.nodes.into_iter().map(node).collect::<Result<Vec<_>>>()?;
        if !nodes.is_sorted_by(|a, b| a.value <= b.value) {
            return Err(malformed("the values of its nodes do not ascend"));
        }
        if saved.dof.is_some_and(|dof| !(dof.0 > 0.0 && dof.0.is_finite())) {
            return Err(malformed("its degrees of freedom are no positive number"));
        }
        let better = saved.better.map(|better| Fit::try_from(*better)).transpose()?;
        if let Some(better) = &better {
            expect("profile", "params of the better fit", better.params().len(), p)?;
        }
        Ok(Profile {
            name: saved.name,
            nodes,
            best: saved.best,
            ends: saved.ends,
            level: saved.level.0,
            dof: saved.dof.map(|dof| dof.0),
            better: better.map(Box::new),
        })
    }
}

fn malformed(message: &str) -> Error {
    SavedError::Malformed { what: "profile", message: message.into() }.into()
}
