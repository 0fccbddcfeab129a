//! Plots of profiles: the increase of the cost with the distance of one parameter from its best value.

use super::axis::Axis;
use super::canvas::{CURVE, Canvas, FAINT, LINE, PARTS, POINT, THIN};
use super::chart::{Chart, Mark, Panel};
use super::legend::{Entry, LegendMark};
use super::settings::methods_of_pictures;
use crate::error::{PlotError, Result};
use dualfit::Profile;

/// Plot of the profile of one parameter: the increase of the cost over its values, optionally with the parabola that
/// corresponds to the standard error, and with an interval.
#[derive(Clone, Debug)]
pub struct ProfilePlot {
    name: String,
    points: Vec<(f64, f64)>,
    symmetric: Option<(f64, f64)>,
    interval: Option<(f64, f64, f64)>,
    y_label: String,
    size: (u32, u32),
}

methods_of_pictures! {
    /// [`PlotError::Nothing`] if there are fewer than two finite points.
    ProfilePlot
}

impl ProfilePlot {
    /// Creates a plot. `points`: values of the parameter, ascending, each with the increase of χ².
    pub fn new(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> ProfilePlot {
        ProfilePlot {
            name: name.to_owned(),
            points: points.into_iter().collect(),
            symmetric: None,
            interval: None,
            y_label: "Δχ²".into(),
            size: (520, 400),
        }
    }

    /// Creates a plot of a profile that [`CurveFit::profile`](dualfit::CurveFit::profile) computed. It shows τ², the
    /// increase of χ² divided by the variance of the residuals.
    pub fn of(profile: &Profile) -> ProfilePlot {
        let squares = profile.taus().into_iter().map(|tau| tau * tau);
        let points = profile.values().into_iter().zip(squares);
        ProfilePlot::new(profile.name(), points).y_label("τ²")
    }

    /// Draws the parabola ((p − best)/error)², which is the profile of a linear model.
    #[must_use]
    pub fn parabola(mut self, best: f64, std_error: f64) -> ProfilePlot {
        self.symmetric = Some((best, std_error));
        self
    }

    /// Draws an interval, and the increase of the cost at its ends.
    #[must_use]
    pub fn interval(mut self, lower: f64, upper: f64, increase: f64) -> ProfilePlot {
        self.interval = Some((lower, upper, increase));
        self
    }

    /// Sets the label of the vertical axis; `Δχ²` by default.
    #[must_use]
    pub fn y_label(mut self, label: &str) -> ProfilePlot {
        self.y_label = label.into();
        self
    }

    /// Sets width and height in pixels, 520 × 400 by default; a PNG has 2x the pixels along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> ProfilePlot {
        self.size = (width, height);
        self
    }

    fn canvas(&self) -> Result<Canvas> {
        let finite = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let points: Vec<(f64, f64)> = self.points.iter().copied().filter(finite).collect();
        if points.len() < 2 {
            return Err(PlotError::Nothing { what: "the profile has no two finite points" });
        }
        let x = Axis::around(points.iter().map(|p| p.0), false, 0.03);
        let increase = self.interval.map(|(_, _, increase)| increase);
        let heights = points.iter().map(|p| p.1).chain(increase).chain([0.0]);
        let y = Axis::around(heights, false, 0.06);
        let y = Axis { low: y.low.min(-0.03 * y.high.abs()), ..y };
        let mut marks = Vec::new();
        let mut legend = vec![Entry::new(LegendMark::Line(CURVE), "profile")];
        if let Some((lower, upper, increase)) = self.interval {
            marks.push(Mark::segment((x.low, increase), (x.high, increase), FAINT, THIN));
            let end = |end| Mark::segment((end, y.low), (end, increase), FAINT, THIN);
            marks.extend([lower, upper].map(end));
        }
        if let Some((best, error)) = self.symmetric {
            let value = |i| x.at(f64::from(i) / 400.0);
            let parabola = (0..=400).map(value).map(|p| (p, ((p - best) / error).powi(2)));
            marks.push(Mark::Line { points: parabola.collect(), color: PARTS[0], width: LINE });
            legend.push(Entry::new(LegendMark::Line(PARTS[0]), "from the standard error"));
        }
        let discs =
            points.iter().map(|&at| Mark::Disc { at, radius: 2.2, filled: true, color: POINT });
        let discs: Vec<Mark> = discs.collect();
        marks.push(Mark::Line { points, color: CURVE, width: LINE });
        marks.extend(discs);
        let panels = vec![Panel { y, label: self.y_label.clone(), marks }];
        let (title, x_label) = (String::new(), self.name.clone());
        Chart { title, x, x_label, panels, legend }.draw(self.size)
    }
}
