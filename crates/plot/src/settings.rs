//! Settings that plots of fits have in common, and the methods that return and save the picture of any plot.

/// Settings of a plot of one or several fits.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) title: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) size: (u32, u32),
    /// True for a logarithmic horizontal and vertical axis.
    pub(super) log: (bool, bool),
    /// Level of the confidence band.
    pub(super) band: Option<f64>,
    pub(super) residuals: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            title: String::new(),
            x_label: "x".into(),
            y_label: "y".into(),
            size: (640, 480),
            log: (false, false),
            band: None,
            residuals: false,
        }
    }
}

/// Defines the methods of a plot that change its field `settings`.
macro_rules! methods_of_settings {
    ($plot:ty) => {
        impl $plot {
            /// Sets the title. By default there is no title, as in papers.
            #[must_use]
            pub fn title(mut self, title: &str) -> Self {
                self.settings.title = title.into();
                self
            }

            /// Sets the label of the horizontal axis, with its unit: `"time / s"`.
            #[must_use]
            pub fn x_label(mut self, label: &str) -> Self {
                self.settings.x_label = label.into();
                self
            }

            /// Sets the label of the vertical axis, with its unit.
            #[must_use]
            pub fn y_label(mut self, label: &str) -> Self {
                self.settings.y_label = label.into();
                self
            }

            /// Sets width and height in pixels, 640 × 480 by default; a PNG has 2x the pixels along each side.
            #[must_use]
            pub fn size(mut self, width: u32, height: u32) -> Self {
                self.settings.size = (width, height);
                self
            }

            /// Selects a logarithmic horizontal axis.
            #[must_use]
            pub fn log_x(mut self, log: bool) -> Self {
                self.settings.log.0 = log;
                self
            }

            /// Selects a logarithmic vertical axis.
            #[must_use]
            pub fn log_y(mut self, log: bool) -> Self {
                self.settings.log.1 = log;
                self
            }

            /// Draws the [confidence band](dualfit::Fit::confidence_band) of this level about each curve of a fit.
            #[must_use]
            pub fn band(mut self, level: f64) -> Self {
                self.settings.band = Some(level);
                self
            }

            /// Draws a lower panel of residuals y − model, divided by their standard deviations if these are known.
            #[must_use]
            pub fn residuals(mut self, residuals: bool) -> Self {
                self.settings.residuals = residuals;
                self
            }
        }
    };
}

/// Defines the methods that return and save the picture that the method `canvas` of a plot draws. The comment before the
/// plot describes the errors.
macro_rules! methods_of_pictures {
    ($(#[doc = $errors:literal])+ $plot:ty) => {
        impl $plot {
            /// Returns the picture as the text of an SVG file.
            ///
            /// # Errors
            $(#[doc = $errors])+
            pub fn to_svg(&self) -> crate::error::Result<String> {
                Ok(self.canvas()?.svg())
            }

            /// Writes the picture to a file whose name ends in `.svg` or `.png`.
            ///
            /// # Errors
            /// The errors of [`to_svg`](Self::to_svg), and an error if the file cannot be written or if its name has
            /// another extension.
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> crate::error::Result<()> {
                self.canvas()?.save(path.as_ref())
            }
        }
    };
}

pub(super) use {methods_of_pictures, methods_of_settings};
