use super::Fit;
use std::fmt;
impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} {}", self.params, self.covariance.errors, self.termination)
    }
}
