//! The bar of a stream.

use super::{bar_on as plain_bar_on, left, seconds, short};
use crate::solver::observe::StreamProgress;
use indicatif::{ProgressDrawTarget, ProgressStyle};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where the rate of a pass is counted from.
#[derive(Clone, Copy)]
struct Since {
    pass: usize,
    points: u64,
    elapsed: Duration,
}

impl Since {
    /// What was said `before`, as long as the same pass goes on.
    fn of(before: Option<Since>, progress: &StreamProgress) -> Since {
        let StreamProgress { pass, points, elapsed, .. } = *progress;
        match before {
            Some(since) if since.pass == pass && since.points <= points => since,
            _ => Since { pass, points, elapsed },
        }
    }

    /// Points per second since, if time has gone by.
    fn rate(self, progress: &StreamProgress) -> Option<f64> {
        let points = progress.points.checked_sub(self.points)? as f64;
        let time = progress.elapsed.checked_sub(self.elapsed)?.as_secs_f64();
        (points > 0.0 && time > 0.0).then(|| points / time)
    }
}

pub(super) fn bar_on(
    target: ProgressDrawTarget,
) -> impl Fn(&StreamProgress) -> ControlFlow<()> + Send + Sync + 'static {
    let bar = plain_bar_on(target, "{spinner} {msg}");
    let since = Mutex::new(None);
    move |progress| {
        if bar.is_hidden() {
            return ControlFlow::Continue(());
        }
        let mut since = since.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Since::of(*since, progress);
        *since = Some(now);
        if let (Some(total), None) = (progress.total_points, bar.length())
            && let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}")
        {
            bar.set_style(style.progress_chars("━━╌"));
            bar.set_length(total);
        }
        bar.set_message(line(progress, now));
        bar.set_position(progress.points);
        bar.tick();
        ControlFlow::Continue(())
    }
}

fn line(progress: &StreamProgress, since: Since) -> String {
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
