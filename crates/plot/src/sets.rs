//! Plots of several fits in one chart: the sets of a joint fit, or groups that are fitted by themselves.

use super::axis::Axis;
use super::canvas::{CURVE, Canvas, Color, DASHES, INK, LINE, PARTS, THIN};
use super::chart::{Chart, Mark, Panel};
use super::fit::{DrawnPoints, FitPlot, Residuals, over, pale};
use super::legend::{Entry, LegendMark};
use super::settings::{Settings, methods_of_pictures, methods_of_settings};
use crate::error::{PlotError, Result};
use dualfit::{Data, Fit};

/// Number of intervals of the grid on which each curve is evaluated.
const CURVE_POINTS: usize = 500;
/// Maximum number of sets in the legend.
const MOST_NAMES: usize = 14;
/// Colours of the sets, in their order. After the last colour they begin again, with dashed curves.
const COLORS: [Color; 7] = [PARTS[0], CURVE, PARTS[1], PARTS[2], PARTS[3], PARTS[4], INK];

/// Plot of the fits of several sets with one independent variable: each set has points with error bars and a curve in
/// its own colour, which ends at the outermost points of the set.
///
/// The fits are those of [`JointFit::set`](dualfit::JointFit::set), or independent fits.
///
/// ```
/// use dualfit::{CurveFit, Data, GlobalFit};
/// use dualfit_plot::SetsPlot;
/// let t: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
/// let decay = |a: f64| -> Vec<f64> { t.iter().map(|t| a * (-0.7 * t).exp()).collect() };
/// let (cold, warm) = (decay(2.0), decay(5.0));
/// let curve = CurveFit::parse("a*exp(-rate*t)", ["t"])?;
/// let data = [Data::new(&t, &cold)?, Data::new(&t, &warm)?];
/// let joint = GlobalFit::new(&curve).share(["rate"]).fit(data.clone(), [("rate", 1.0)])?;
/// let fits = [joint.set(0).unwrap(), joint.set(1).unwrap()];
/// let mut plot = SetsPlot::new().x_label("time / s").residuals(true);
/// for ((name, fit), data) in ["cold", "warm"].into_iter().zip(&fits).zip(data) {
///     plot = plot.set(name, fit, data);
/// }
/// assert!(plot.to_svg()?.contains(">warm</text>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SetsPlot<'a> {
    /// Name of each set, and the plot of its fit alone.
    sets: Vec<(String, FitPlot<'a>)>,
    settings: Settings,
}

methods_of_settings!(SetsPlot<'_>);
methods_of_pictures! {
    /// The errors of [`FitPlot::to_svg`] for each set; [`PlotError::Nothing`] if there are no sets.
    SetsPlot<'_>
}

impl<'a> SetsPlot<'a> {
    /// Creates a plot without sets.
    #[must_use]
    pub fn new() -> SetsPlot<'a> {
        SetsPlot::default()
    }

    /// Adds a set: its name in the legend, its fit, and the points to which the fit was made.
    #[must_use]
    pub fn set(mut self, name: &str, fit: &'a Fit, data: impl Into<Data<'a>>) -> SetsPlot<'a> {
        self.sets.push((name.into(), FitPlot::new(fit, data)));
        self
    }

    fn canvas(&self) -> Result<Canvas> {
        let (log_x, log_y) = self.settings.log;
        if self.sets.is_empty() {
            return Err(PlotError::Nothing { what: "no set was added" });
        }
        let sets = self.sets.iter().map(|(_, plot)| Ok((plot, plot.points(self.settings.log)?)));
        let sets: Vec<(&FitPlot<'a>, DrawnPoints)> = sets.collect::<Result<_>>()?;
        let all_x = || sets.iter().flat_map(|(_, points)| points.finite().map(|i| points.x[i]));
        let x = Axis::around(all_x(), log_x, 0.03);
        let (mut bands, mut marks, mut heights) = (Vec::new(), Vec::new(), Vec::new());
        let (mut residuals, mut label, mut most) = (Vec::new(), "", 0.0_f64);
        for (i, (plot, points)) in sets.iter().enumerate() {
            let (color, dashes) = style(i);
            let own = Axis::around(points.finite().map(|i| points.x[i]), log_x, 0.0);
            let grid = own.grid(CURVE_POINTS);
            let curve = plot.fit.predict(&grid)?;
            let sigma = points.sigma.as_deref();
            heights.extend(points.heights().chain(curve.iter().copied()));
            if let Some(level) = self.settings.band {
                let band = plot.fit.confidence_band(&grid, level)?;
                let (lower, upper) = (over(&grid, &band.lower), over(&grid, &band.upper));
                bands.push(Mark::Band { lower, upper, color: pale(color) });
            }
            marks.extend(points.marks(&points.y, sigma, color));
            let points_of_curve = over(&grid, &curve);
            marks.push(match dashes {
                [] => Mark::Line { points: points_of_curve, color, width: LINE },
                dashes => Mark::Dashed { points: points_of_curve, color, dashes },
            });
            if self.settings.residuals {
                let scaled = plot.scaled_residuals(points)?;
                residuals.extend(points.marks(&scaled.values, None, color));
                (label, most) = (scaled.label, most.max(scaled.most));
            }
        }
        bands.extend(marks);
        let y = Axis::around(heights.into_iter(), log_y, 0.06);
        let mut panels = vec![Panel { y, label: self.settings.y_label.clone(), marks: bands }];
        if self.settings.residuals {
            residuals.insert(0, Mark::segment((x.low, 0.0), (x.high, 0.0), INK, THIN));
            panels.push(Panel { y: Residuals::axis(most), label: label.into(), marks: residuals });
        }
        let (title, x_label) = (self.settings.title.clone(), self.settings.x_label.clone());
        Chart { title, x, x_label, panels, legend: self.legend() }.draw(self.settings.size)
    }

    fn legend(&self) -> Vec<Entry> {
        let entry = |(i, (name, _)): (usize, &(String, FitPlot<'a>))| {
            let (color, dashes) = style(i);
            Entry::new(LegendMark::Marked(color, dashes), name.as_str())
        };
        let mut legend: Vec<Entry> =
            self.sets.iter().enumerate().map(entry).take(MOST_NAMES).collect();
        if let more @ 1.. = self.sets.len().saturating_sub(MOST_NAMES) {
            legend.push(Entry::new(LegendMark::Nothing, format!("and {more} more")));
        }
        legend
    }
}

/// Returns the colour and the dashes of a set's curve.
fn style(set: usize) -> (Color, &'static [f64]) {
    let dashes = match set / COLORS.len() {
        0 => &[][..],
        round => DASHES[(round - 1) % DASHES.len()],
    };
    (COLORS[set % COLORS.len()], dashes)
}
