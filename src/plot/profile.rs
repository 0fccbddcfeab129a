//! How the cost grows as one parameter is moved away from its best value.

use super::axis::{Axis, Frame, room};
use super::blank;
use super::legend::{self, Sample};
use super::scene::{Panel, Scene};
use super::style::{CURVE, FAINT, LINE, PARTS, POINT, THIN};
use crate::curve_fit::profile::Profile;
use crate::error::Result;
use crate::error::plot::PlotError;
use std::path::Path;

/// The profile of one parameter: the increase of the cost over its values, with the parabola that the
/// standard error stands for and an interval, if they are given.
#[derive(Clone, Debug)]
pub struct ProfilePlot {
    name: String,
    points: Vec<(f64, f64)>,
    symmetric: Option<(f64, f64)>,
    interval: Option<(f64, f64, f64)>,
    y_label: String,
    size: (u32, u32),
}

impl ProfilePlot {
    /// `points`: values of the parameter, ascending, with the increase of χ² there.
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

    /// A profile as [`CurveFit::profile`](crate::CurveFit::profile) finds it: τ², the increase of χ² over the
    /// variance of the residuals.
    pub fn of(profile: &Profile) -> ProfilePlot {
        let squares = profile.taus().into_iter().map(|tau| tau * tau);
        let points = profile.values().into_iter().zip(squares);
        ProfilePlot::new(profile.name(), points).y_label("τ²")
    }

    /// Draws ((p − best)/error)², which the profile would be if the model were linear.
    #[must_use]
    pub fn parabola(mut self, best: f64, std_error: f64) -> ProfilePlot {
        self.symmetric = Some((best, std_error));
        self
    }

    /// Shows an interval, and the increase at its ends.
    #[must_use]
    pub fn interval(mut self, lower: f64, upper: f64, increase: f64) -> ProfilePlot {
        self.interval = Some((lower, upper, increase));
        self
    }

    /// What the vertical axis is; `Δχ²` by default.
    #[must_use]
    pub fn y_label(mut self, label: &str) -> ProfilePlot {
        self.y_label = label.into();
        self
    }

    /// Width and height in pixels, 520 × 400 by default; a PNG has twice as many along each side.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> ProfilePlot {
        self.size = (width, height);
        self
    }

    /// The picture as the text of an SVG file.
    ///
    /// # Errors
    /// [`PlotError::Nothing`] without two finite points.
    pub fn to_svg(&self) -> Result<String> {
        Ok(self.scene()?.svg()?)
    }

    /// Writes the picture to a file whose name ends in `.svg` or `.png`.
    ///
    /// # Errors
    /// As [`to_svg`](ProfilePlot::to_svg), and if the file cannot be written or its name says neither.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.scene()?.save(path.as_ref())?)
    }

    fn scene(&self) -> std::result::Result<Scene, PlotError> {
        let mut scene = blank(self.size)?;
        let points: Vec<(f64, f64)> =
            self.points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
        if points.len() < 2 {
            return Err(PlotError::Nothing { what: "the profile has no two finite points" });
        }
        let x = Axis::around(points.iter().map(|p| p.0), false, 0.03);
        let increase = self.interval.map(|(_, _, increase)| increase);
        let heights = points.iter().map(|p| p.1).chain(increase).chain([0.0]);
        let most = Axis::around(heights, false, 0.06);
        let y = Axis { low: most.low.min(-0.03 * most.high.abs()), ..most };
        let mut entries = vec![(Sample::Line(CURVE), "profile".to_owned())];
        if self.symmetric.is_some() {
            entries.push((Sample::Line(PARTS[0]), "from the standard error".into()));
        }
        let (top, bottom) =
            (26.0 + legend::height(&entries, scene.width) + 4.0, scene.height - 48.0);
        let left = 28.0 + room(&y, bottom - top);
        let panel = Panel { left, right: scene.width - 18.0, top, bottom };
        let frame = Frame { panel, x, y };
        if let Some((lower, upper, increase)) = self.interval {
            let level = [frame.place(x.low, increase), frame.place(x.high, increase)];
            scene.curve(&panel, &level, FAINT, THIN);
            for end in [lower, upper] {
                let line = [frame.place(end, y.low), frame.place(end, increase)];
                scene.curve(&panel, &line, FAINT, THIN);
            }
        }
        if let Some((best, error)) = self.symmetric {
            let grid: Vec<f64> = (0..=400).map(|i| x.at(f64::from(i) / 400.0)).collect();
            let parabola: Vec<f64> = grid.iter().map(|p| ((p - best) / error).powi(2)).collect();
            scene.curve(&panel, &frame.places(&grid, &parabola), PARTS[0], LINE);
        }
        let places: Vec<_> = points.iter().map(|p| frame.place(p.0, p.1)).collect();
        scene.curve(&panel, &places, CURVE, LINE);
        places.iter().for_each(|&place| scene.disc(&panel, place, 2.2, POINT));
        legend::above(&mut scene, &entries, &panel, 18.0);
        frame.draw(&mut scene, true);
        frame.label_x(&mut scene, &self.name);
        frame.label_y(&mut scene, &self.y_label, 16.0);
        Ok(scene)
    }
}
