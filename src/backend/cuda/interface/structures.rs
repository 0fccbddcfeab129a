//! The structures that host and kernels share, member by member.
//!
//! All members of the structures that the host writes and reads have 8 bytes; it accesses them as words. Lengths are
//! expressions that are valid in both languages.

use crate::constants::DEPTH;
use std::ffi::c_void;
use std::ops::Range;

/// Numbers that determine the lengths of the structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Number of independent variables.
    pub(crate) columns: usize,
    /// Number of parameters, fixed ones included.
    pub(crate) params: usize,
    /// Number of free parameters, at least 1.
    pub(crate) free: usize,
}

/// Returns the number of words of the sums of a pass for `n` free parameters: products and cost.
pub(crate) fn sums(n: usize) -> usize {
    (n + 1) * (n + 2) / 2 + 1
}

impl Size {
    /// Returns the length of `room` in `Scratch`, which a restricted model and the Anderson acceleration use.
    fn room(self) -> usize {
        let model = (self.free + 1) * (2 * self.free + 1);
        let mixing = (self.free + DEPTH + 1) * (DEPTH + 1) + DEPTH * (DEPTH + 1);
        model.max(mixing)
    }

    /// Returns the C++ constants for the lengths of members.
    pub(crate) fn constants(self) -> String {
        let Size { columns, params, free } = self;
        let (k, sums, room) = (free + 1, sums(free), self.room());
        // C++ has no empty arrays.
        let variables = columns.max(1);
        format!(
            "[[maybe_unused]] constexpr int PARAMS = {params};
[[maybe_unused]] constexpr int FREE = {free};
[[maybe_unused]] constexpr int VARIABLES = {variables};
// Columns of [J r]; products of two of them, upper triangle by columns; these and the cost.
[[maybe_unused]] constexpr int K = {k};
[[maybe_unused]] constexpr int PRODUCTS = {};
[[maybe_unused]] constexpr int SUMS = {sums};
[[maybe_unused]] constexpr int ROOM = {room};
",
            sums - 1
        )
    }
}

/// Type of a member of a structure.
pub(crate) trait Member {
    const CXX: &'static str;
    /// Location of a member: a range of words, or the locations of a structure's members.
    type Place;

    /// Returns the location of `count` members from word `first` on, and the index of the next word.
    fn place(first: usize, count: usize, size: Size) -> (Self::Place, usize);
}

macro_rules! word_members {
    ($($kind:ty = $cxx:literal,)+) => {
        $(impl Member for $kind {
            const CXX: &'static str = $cxx;
            type Place = Range<usize>;

            fn place(first: usize, count: usize, _: Size) -> (Range<usize>, usize) {
                (first..first + count, first + count)
            }
        })+
    };
}

/// A number of a step, `Number` in `kernels/numbers.cuh`: an `f64` wherever the host writes and reads it. Only the slim
/// kernel of a stage in f32, which keeps its structures to itself, has an `f32` here.
pub(crate) enum Number {}

word_members! {
    i64 = "i64",
    f64 = "double",
    Number = "Number",
    *const f64 = "const double*",
    *const i64 = "const i64*",
    *const u8 = "const unsigned char*",
    *const c_void = "const void*",
    *mut f64 = "double*",
    *mut u32 = "unsigned*",
}

pub(super) fn opening(text: &mut String, about: &str, kind: &str, name: &str) {
    *text += &format!("//{about}\n{kind} {name} {{\n");
}

pub(super) fn member(text: &mut String, declared: &str, end: &str, about: &str) {
    let comment = if about.is_empty() { "" } else { "  //" };
    *text += &format!("    {declared}{end}{comment}{about}\n");
}

/// Declares structures in Rust, as the locations of their members, and in C++.
macro_rules! structures {
    ($PARAMS:ident $FREE:ident $VARIABLES:ident $SUMS:ident $ROOM:ident:
     $($(#[doc = $about:literal])+ $layout:ident as $cxx:literal {
        $($(#[doc = $doc:literal])+ $name:ident: $kind:ty $(; $length:expr)?,)+
    })+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, PartialEq)]
            pub(crate) struct $layout {
                $($(#[doc = $doc])+ pub(crate) $name: <$kind as Member>::Place,)+
                /// Size of the structure, in words.
                pub(crate) words: usize,
            }

            impl Member for $layout {
                const CXX: &'static str = $cxx;
                type Place = $layout;

                #[allow(non_snake_case, unused_variables)]
                fn place(first: usize, _: usize, size: Size) -> ($layout, usize) {
                    let ($PARAMS, $FREE, $VARIABLES) = (size.params, size.free, size.columns.max(1));
                    let ($SUMS, $ROOM) = (sums(size.free), size.room());
                    let end = first;
                    $(let ($name, end) = <$kind as Member>::place(end, 1 $(* ($length))?, size);)+
                    ($layout { $($name,)+ words: end - first }, end)
                }
            }

            impl $layout {
                /// Declares the structure in C++.
                pub(super) fn declare(text: &mut String) {
                    opening(text, concat!($($about),+), "struct", $cxx);
                    $(
                        let name = concat!(stringify!($name) $(, "[", stringify!($length), "]")?);
                        let declared = format!("{} {name}", <$kind as Member>::CXX);
                        member(text, &declared, ";", concat!($($doc),+));
                    )+
                    text.push_str("};\n");
                }
            }
        )+
    };
}

structures! { PARAMS FREE VARIABLES SUMS ROOM:
    /// A point in the space of parameters.
    PlaceLayout as "Place" {
        /// All parameters, free and fixed.
        params: Number; PARAMS,
        /// The free parameters.
        q: Number; FREE,
        /// The summary of the normal equations at this point.
        sums: Number; SUMS,
    }

    /// The last points of the refinement, for Anderson acceleration, the oldest first.
    MixingLayout as "Mixing" {
        /// Number of stored points.
        held: i64,
        /// The points.
        points: Number; FREE * (DEPTH + 1),
        /// The Gauss-Newton steps from these points.
        steps: Number; FREE * (DEPTH + 1),
    }

    /// State of a fit of a batch between evaluations. The first trial and the members from `limit` on are set at the
    /// beginning; the solver writes the others.
    Layout as "State" {
        /// A Request.
        request: i64,
        /// A Phase.
        phase: i64,
        /// A Reason.
        termination: i64,
        /// Number of evaluations of the sums.
        evaluations: i64,
        /// Number of accepted steps.
        iterations: i64,
        /// The best point so far.
        present: PlaceLayout,
        /// The candidate for the next point.
        trial: PlaceLayout,
        /// The best point of the refinement.
        best: PlaceLayout,
        /// R of the linear model at the present point, 1/2 |R d + z|^2.
        r: Number; FREE * FREE,
        /// z of the linear model.
        z: Number; FREE,
        /// Lengths of the columns of J.
        norms: Number; FREE,
        /// J'r.
        gradient: Number; FREE,
        /// Bit set of the parameters that may move.
        moving: i64,
        /// The trust region: the diagonal of D.
        scale: Number; FREE,
        /// Upper limit of |D d|.
        radius: Number,
        /// The damping of the last step.
        lambda: Number,
        /// The step.
        delta: Number; FREE,
        /// Decrease of the cost that the Gauss-Newton step predicts; infinite if there is no such step.
        fall: Number,
        /// The largest change of a parameter by the Gauss-Newton step, relative to the parameter's size.
        change: Number,
        /// Number of times that the current step was shortened because the model was not finite.
        shortenings: i64,
        /// Length of D delta.
        length: Number,
        /// Product of the step with the gradient at the present point.
        slope: Number,
        /// True if a bound cut the step.
        cut: i64,
        /// True if the step shows the effect of a full step.
        full: i64,
        /// Actual decrease of the cost.
        actual: Number,
        /// Decrease of the cost that the linear model predicted.
        predicted: Number,
        /// Ratio of the actual to the predicted decrease.
        ratio: Number,
        /// The largest factor by which the last accepted step changed the length of a column of J.
        bend: Number,
        /// Product of the last accepted step with the gradient after it.
        along: Number,
        /// The reason to end because the accepted step is small, or NONE.
        small: i64,
        /// Reason of the termination after the refinement.
        reason: i64,
        /// Steps of the refinement.
        refinements: i64,
        /// `moving` before the last step of the refinement.
        moving_before: i64,
        /// True if the present point is the best.
        at_best: i64,
        /// `change` at the best point.
        best_change: Number,
        /// `change` at the previous point of the refinement; 0 at the first point.
        refined_change: Number,
        /// The cost that the best point may not exceed.
        ceiling: Number,
        /// Points and steps of the Anderson acceleration.
        mixing: MixingLayout,
        /// Maximum number of evaluations. The solver only reads this and the following members.
        limit: i64,
        /// Number of accepted steps before this run.
        earlier: i64,
        /// True if columns may be 0 at the start because the parameters have no effect there.
        without_effect: i64,
        /// A Scaling.
        scaling: i64,
        /// Number of points used.
        points_counted: i64,
        /// Relative tolerance of the cost.
        ftol: Number,
        /// Relative tolerance of the parameters.
        xtol: Number,
        /// Tolerance of the cosine between residuals and columns.
        gtol: Number,
        /// Tolerance of the parameters in standard errors.
        etol: Number,
        /// The standard deviation of a row if it is known, otherwise 0.
        row_error: Number,
        /// The first radius, relative to the parameters.
        initial_radius: Number,
        /// Upper limit of a sum of squares that is only rounding error.
        rounding: Number,
        /// Sum of squares of the weighted response.
        square: Number,
        /// Sum of squares of the weighted response about its mean, as `Moments::signal`.
        signal: Number,
        /// Upper limit of the cost of points without outliers, as `Loss::bulk`; infinite if there is none.
        bulk: Number,
        /// Floor of the robust correction while iterating.
        floor: Number,
        /// Lower bounds.
        lower: Number; FREE,
        /// Upper bounds.
        upper: Number; FREE,
        /// Positions of the free parameters.
        free: i64; FREE,
        /// Bit set of the free parameters that the model does not use.
        unused: i64,
    }

    /// Scratch memory of a step; its contents are not kept between steps.
    ScratchLayout as "Scratch" {
        /// A factor of the parameters that move.
        r: Number; FREE * FREE,
        /// Scratch for a restricted model or for the Anderson acceleration.
        room: Number; ROOM,
        /// The right-hand side that belongs to r.
        z: Number; FREE,
        /// D of the parameters that move.
        scale: Number; FREE,
        /// A step of the parameters that move.
        part: Number; FREE,
        /// The Gauss-Newton step of all parameters.
        step: Number; FREE,
        /// A vector for temporary use.
        t: Number; FREE,
        /// The diagonal of the damping.
        damping: Number; FREE,
    }

    /// One fit's points, passed to kernels by value.
    DataLayout as "Data" {
        /// Independent variables, `points` numbers each, f32 or f64.
        x: *const c_void; VARIABLES,
        /// Responses, f32 or f64.
        y: *const c_void,
        /// Per point row unit / sigma, or null.
        weight: *const f64,
        /// The weight of all points if `weight` is null.
        constant_weight: f64,
        /// C of the loss, in row units; for counts the expectation below which a count is dark.
        loss_scale: f64,
        /// Number of points.
        points: i64,
    }

    /// Output arrays with one row per fit.
    ResultsLayout as "Results" {
        /// Fits * PARAMS.
        params: *mut f64,
        /// Fits * PARAMS standard errors.
        errors: *mut f64,
        /// One cost per fit.
        costs: *mut f64,
        /// Fits * PARAMS * PARAMS, or null.
        covariances: *mut f64,
        /// One sum of the weights per fit; null unless the loss is robust.
        weights: *mut f64,
        /// Fits * COUNTS: a Reason and, from bit 16 on, the rank; points used, or the index of the point with bad data;
        /// accepted steps; evaluations; the set of free parameters at a lower bound and, from bit 16 on, at an upper
        /// bound.
        counts: *mut u32,
    }

    /// All fits of a launch. Indices count from its first fit.
    BatchLayout as "Batch" {
        /// x: columns of `points` numbers that all fits share or, if `own`, one number per sample. y: the samples, one
        /// fit after the other. weight: null. constant_weight: weight of all samples if there is no sigma per sample.
        /// points: number of points of each fit if all fits have the same number.
        data: DataLayout,
        /// Standard deviations in the layout `sigma_of`, or null.
        sigma: *const f64,
        /// One byte per sample or, if `mask_shared`, per point, 0 if it is left out; or null.
        mask: *const u8,
        /// Fits + 1 numbers, or null: the samples of fit f begin at offsets[f] - offsets[0].
        offsets: *const i64,
        /// Starting points: PARAMS numbers of fit f at starts + f * start_stride.
        starts: *const f64,
        /// PARAMS lower bounds of all fits.
        lower: *const f64,
        /// PARAMS upper bounds of all fits.
        upper: *const f64,
        /// Fits * PARAMS lower bounds that replace the common lower bounds of the free parameters, or null.
        own_lower: *const f64,
        /// The upper bounds that belong to `own_lower`.
        own_upper: *const f64,
        /// Number of fits.
        fits: i64,
        /// True if each fit has its own columns.
        own: i64,
        /// A SigmaOf.
        sigma_of: i64,
        /// True if all fits share one mask.
        mask_shared: i64,
        /// Distance between the starts of adjacent fits, in numbers.
        start_stride: i64,
        /// True if points that are not finite are left out; otherwise they are an error.
        omit: i64,
        /// True if standard errors follow from sigma, not from the scatter.
        absolute: i64,
        /// True if starts outside the bounds are moved onto them.
        clamp_start: i64,
        /// True if there may be fewer points than free parameters.
        underdetermined: i64,
        /// True if fits continue from the results of the previous launch.
        continued: i64,
        /// True if fits that converge in f32, in this launch or the previous one, are final.
        keep: i64,
        /// Maximum number of evaluations of a fit.
        limit: i64,
        /// As in State.
        ftol: f64,
        /// As in State.
        xtol: f64,
        /// As in State.
        gtol: f64,
        /// As in State.
        etol: f64,
        /// As in State.
        initial_radius: f64,
        /// As in State.
        floor: f64,
        /// Positions of the free parameters.
        free: i64; FREE,
        /// Bit set of the free parameters that the model does not use.
        unused: i64,
        /// Output arrays of the fits.
        out: ResultsLayout,
    }
}

/// Maximum length of a pass's inputs that the host passes to the kernel by value, in numbers:
/// 1 KiB of the 4 KiB that the arguments of a kernel may take.
const MOST_BY_VALUE: usize = 128;
/// Maximum length of the inputs and the addresses of the columns together, in numbers.
const MOST_WITH_COLUMNS: usize = 480;

/// Returns true if a kernel receives the inputs of a pass by value, which avoids a copy before each launch.
pub(crate) fn inputs_by_value(size: Size) -> bool {
    let numbers = size.params + size.free;
    numbers <= MOST_BY_VALUE && numbers + size.columns <= MOST_WITH_COLUMNS
}

/// Declares the structure of a pass's inputs in C++.
pub(super) fn declare_inputs(text: &mut String, size: Size) {
    opening(
        text,
        " Where a pass evaluates the model, passed to kernels by value.",
        "struct",
        "Inputs",
    );
    let members = match inputs_by_value(size) {
        true => ["double params[PARAMS]", "double columns[FREE]"],
        false => ["const double* params", "const double* columns"],
    };
    let about = [" PARAMS numbers.", " FREE factors of the columns of J."];
    members.into_iter().zip(about).for_each(|(declared, about)| member(text, declared, ";", about));
    text.push_str("};\n");
}

/// Declares all structures in C++.
pub(super) fn declare(text: &mut String) {
    PlaceLayout::declare(text);
    MixingLayout::declare(text);
    Layout::declare(text);
    ScratchLayout::declare(text);
    DataLayout::declare(text);
    ResultsLayout::declare(text);
    BatchLayout::declare(text);
}
