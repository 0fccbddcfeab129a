//! Accuracy of results, compared with certificates, recorded fits of other programs, simulation, and solutions by
//! independent methods.

mod batch_statistics;
mod closest;
mod converged;
mod curvature_bias;
mod domain_walls;
mod ends;
mod errors_in_x;
mod etol;
mod hard_numerics;
mod heavy_points;
mod lack_of_fit;
mod large;
mod nist;
mod nist_linear;
mod poisson;
mod priors;
mod robust;
mod scipy;
mod second_order;
mod uncertainty;
mod unneeded_terms;
mod voigt;

#[path = "../support"]
mod support {
    pub(crate) mod digest;
    pub(crate) mod functions;
    pub(crate) mod listing;
    pub(crate) mod losses;
    pub(crate) mod nist;
    pub(crate) mod scipy;
    pub(crate) mod standard;
}
