//! Observer that draws a progress bar.

use crate::solver::observe::{
    BatchProgress, Event, GenerationProgress, Progress, SearchProgress, StreamProgress,
};
use crate::threads::lock;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;

/// Returns an observer for [`CurveFit::observe`](crate::CurveFit::observe) that draws a progress bar on the standard
/// error stream. It shows:
///
/// - for a fit: iteration, cost, step and damping; in a multi-start these belong to the fit that made the last step
/// - for a batch: finished fits, fits per second and remaining time
/// - for each pass of a stream: points, points per second, remaining time if the number of points is known, and the
///   cost after the previous pass
/// - for differential evolution: generation, evaluations and lowest cost
/// - for the search for a start: round, fits and lowest cost
///
/// ```
/// use dualfit::{CurveFit, progress};
/// let decay = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).observe(progress::bar());
/// ```
pub fn bar() -> impl Fn(&Event<'_>) -> ControlFlow<()> + Send + Sync + 'static {
    bar_on(ProgressDrawTarget::stderr())
}

fn bar_on(
    target: ProgressDrawTarget,
) -> impl Fn(&Event<'_>) -> ControlFlow<()> + Send + Sync + 'static {
    let bar = ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::Abandon);
    bar.set_style(style("{spinner} {msg}"));
    let since = Mutex::new(None);
    move |event| {
        if !bar.is_hidden() {
            let mut since = lock(&since);
            if bar.is_finished() {
                // A new fit or batch of the same model begins.
                bar.reset();
            }
            match event {
                // A step of the fit of a stream is not shown: the line of the stream already shows the cost.
                Event::Step(now)
                    if since.is_some_and(|pass: Since| pass.elapsed <= now.elapsed) => {}
                Event::Step(now) => {
                    *since = None;
                    bar.unset_length();
                    bar.set_style(style("{spinner} {msg}"));
                    bar.set_message(fit_line(now));
                }
                Event::Batch(now) => show_batch(&bar, now),
                Event::Generation(now) => {
                    with_length(&bar, now.generations as u64);
                    bar.set_message(generation_line(now));
                    bar.set_position(now.generation as u64);
                }
                Event::Search(now) => {
                    with_length(&bar, now.rounds as u64);
                    bar.set_message(search_line(now));
                    bar.set_position(now.round as u64);
                }
                Event::Stream(now) => {
                    let from = Since::of(*since, now);
                    *since = Some(from);
                    show_stream(&bar, now, from);
                }
            }
            if !bar.is_finished() {
                bar.tick();
            }
        }
        ControlFlow::Continue(())
    }
}

fn fit_line(progress: &Progress<'_>) -> String {
    let Progress { iteration, cost, step, damping, .. } = *progress;
    format!(
        "iteration {iteration}  cost {cost:.6e}  step {step:.1e}  damping {damping:.1e}  {}",
        seconds(progress.elapsed)
    )
}

fn show_batch(bar: &ProgressBar, progress: &BatchProgress) {
    with_length(bar, progress.n_fits as u64);
    bar.set_message(batch_line(*progress));
    bar.set_position(progress.finished as u64);
    if progress.finished == progress.n_fits {
        bar.abandon();
    }
}

fn generation_line(progress: &GenerationProgress) -> String {
    let GenerationProgress { generation, evaluations, cost, elapsed, .. } = *progress;
    let (evaluations, time) = (short(evaluations as f64), seconds(elapsed));
    format!("generation {generation}  {evaluations} evaluations  cost {cost:.6e}  {time}")
}

fn search_line(progress: &SearchProgress) -> String {
    let SearchProgress { round, fits, cost, elapsed, .. } = *progress;
    format!("search round {round}  {fits} fits  cost {cost:.6e}  {}", seconds(elapsed))
}

fn show_stream(bar: &ProgressBar, progress: &StreamProgress, since: Since) {
    if let Some(total) = progress.total_points {
        with_length(bar, total);
    }
    bar.set_message(stream_line(progress, since));
    bar.set_position(progress.points);
}

/// Shows a bar for `length` items.
fn with_length(bar: &ProgressBar, length: u64) {
    if bar.length() != Some(length) {
        bar.set_style(style("{bar:30} {msg}"));
        bar.set_length(length);
    }
}

fn batch_line(progress: BatchProgress) -> String {
    let BatchProgress { finished, n_fits, elapsed } = progress;
    let rate = finished as f64 / elapsed.as_secs_f64();
    let left = match finished == n_fits {
        true => format!("in {}", seconds(elapsed)),
        false => format!("{} left", left(n_fits as f64 - finished as f64, rate)),
    };
    format!("{finished} of {n_fits} fits  {} fits/s  {left}", short(rate))
}

/// First progress event of a pass, the reference for its rate.
#[derive(Clone, Copy)]
struct Since {
    pass: usize,
    points: u64,
    elapsed: Duration,
}

impl Since {
    /// Returns `before` if its pass continues; otherwise creates a reference from `progress`.
    fn of(before: Option<Since>, progress: &StreamProgress) -> Since {
        let StreamProgress { pass, points, elapsed, .. } = *progress;
        match before {
            Some(since) if since.pass == pass && since.points <= points => since,
            _ => Since { pass, points, elapsed },
        }
    }

    /// Returns the points per second since the reference, if points and time have advanced.
    fn rate(self, progress: &StreamProgress) -> Option<f64> {
        let points = progress.points.checked_sub(self.points)? as f64;
        let time = progress.elapsed.checked_sub(self.elapsed)?.as_secs_f64();
        (points > 0.0 && time > 0.0).then(|| points / time)
    }
}

fn stream_line(progress: &StreamProgress, since: Since) -> String {
    let rate = since.rate(progress);
    let mut line = format!("pass {}  {}", progress.pass, short(progress.points as f64));
    if let Some(total) = progress.total_points {
        line += &format!(" of {}", short(total as f64));
    }
    line += " points";
    if let Some(rate) = rate {
        line += &format!("  {} points/s", short(rate));
    }
    if let (Some(rate), Some(total)) = (rate, progress.total_points) {
        line += &format!("  {} left", left(total.saturating_sub(progress.points) as f64, rate));
    }
    if let Some(cost) = progress.cost {
        line += &format!("  cost {cost:.6e}");
    }
    line + "  " + &seconds(progress.elapsed)
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants of this module, and its tests draw each of them.
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━━╌")
}

/// Returns the time for `remaining` items at this rate, as text.
fn left(remaining: f64, rate: f64) -> String {
    match Duration::try_from_secs_f64(remaining / rate) {
        Ok(time) => seconds(time),
        Err(_) => "?".into(),
    }
}

/// Formats a number with three digits and the prefix of its unit: `1.23 M`.
fn short(value: f64) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (unit, prefix) = prefixes.into_iter().find(|&(unit, _)| value >= unit).unwrap_or((1.0, ""));
    let scaled = value / unit;
    let digits = match scaled {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.digits$} {prefix}").trim_end().to_owned()
}

/// Formats a time: `0.42 s`, `37 s`, `5 min 07 s`, `2 h 05 min`.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.2} s", time.as_secs_f64()),
        whole @ 10..60 => format!("{whole} s"),
        whole @ 60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        whole => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests;
