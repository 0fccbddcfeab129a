//! Report of a multi-start fit: the optima with their hits, and the reasons why starts did not converge.

use super::Optima;
use crate::error::quote::significant;
use std::fmt;

/// Maximum number of printed optima.
const MOST_OPTIMA: usize = 12;
/// Maximum number of printed parameters of each optimum.
const MOST_PARAMETERS: usize = 12;

impl fmt::Display for Optima {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (starts, converged) = (count(self.trials.len(), "start"), self.converged());
        let optima = match self.distinct.len() {
            1 => "1 distinct optimum".to_owned(),
            n => format!("{n} distinct optima"),
        };
        write!(f, "{starts}, {converged} converged; {optima}")?;
        if !self.distinct.is_empty() {
            self.table(f)?;
        }
        if let Some(unseen) = self.chance_of_unseen().filter(|&unseen| unseen > 0.0) {
            let once = self.distinct.iter().filter(|optimum| optimum.hits() == 1).count();
            let one =
                if once == 1 { "1 optimum was".to_owned() } else { format!("{once} optima were") };
            write!(
                f,
                "\n\n{one} reached once: one more start finds a new one with a probability of at most about {unseen:.2}"
            )?;
        }
        self.unlucky(f)?;
        let lower = |cost: f64| cost < self.best.cost();
        if self.trials.iter().filter_map(|trial| trial.cost()).any(lower) {
            write!(
                f,
                "\na start that did not converge reached a lower cost than the best optimum"
            )?;
        }
        Ok(())
    }
}

impl Optima {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.best.names();
        let shown = names.len().min(MOST_PARAMETERS);
        let more = if names.len() > shown { "  …" } else { "" };
        write!(f, "\n\noptimum            cost    hits")?;
        names[..shown].iter().try_for_each(|name| write!(f, "  {name:>14}"))?;
        write!(f, "{more}")?;
        for (i, optimum) in self.distinct.iter().take(MOST_OPTIMA).enumerate() {
            let (cost, hits) = (significant(optimum.cost, 8), optimum.hits());
            write!(f, "\n{:>7}  {cost:>14}  {hits:>6}", i + 1)?;
            let mut values = optimum.params[..shown].iter();
            values.try_for_each(|&p| write!(f, "  {:>14}", significant(p, 8)))?;
            write!(f, "{more}")?;
        }
        match self.distinct.len().saturating_sub(MOST_OPTIMA) {
            0 => Ok(()),
            more => write!(f, "\nand {more} of higher cost"),
        }
    }

    /// Prints the number of starts that did not converge, by reason, with the text of the first one.
    fn unlucky(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Errors of one kind differ only in points and parameters; the first one is sufficient.
        let mut reasons: Vec<(String, String, usize)> = Vec::new();
        for trial in self.trials.iter().filter(|trial| !trial.converged()) {
            let (kind, words) = match (trial.termination(), trial.error()) {
                (Some(termination), _) => (format!("{termination:?}"), termination.to_string()),
                (None, Some(error)) => {
                    (format!("{:?}", std::mem::discriminant(error)), format!("failed: {error}"))
                }
                (None, None) => (String::new(), "not begun: stopped by the caller".to_owned()),
            };
            match reasons.iter_mut().find(|reason| reason.0 == kind) {
                Some(reason) => reason.2 += 1,
                None => reasons.push((kind, words, 1)),
            }
        }
        if !reasons.is_empty() {
            writeln!(f)?;
        }
        reasons.iter().try_for_each(|(_, words, n)| write!(f, "\n{}: {words}", count(*n, "start")))
    }
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
