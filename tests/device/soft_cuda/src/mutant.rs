//! Modules that lack one of the instructions that order threads: mistakes that tests must find.

use crate::program::{Module, Operation, Scope};
use std::fmt;

/// Which instruction is left out of modules that have a kernel of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) kernel: String,
    /// Its number among the barriers of blocks and warps and the fences of the device, in the order of the text.
    pub(crate) number: usize,
}

/// What was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The module has no such kernel.
    Untouched,
    /// It has no instruction of that number, but so many.
    Over(usize),
    LeftOut {
        what: String,
        function: String,
        line: u32,
        all: usize,
    },
}

impl Mutant {
    /// Reads `KERNEL:NUMBER`.
    ///
    /// # Errors
    /// If it is not of that form.
    pub(crate) fn parse(text: &str) -> Result<Mutant, String> {
        let parts = text.split_once(':');
        let read = parts.and_then(|(kernel, number)| {
            Some(Mutant { kernel: kernel.trim().into(), number: number.trim().parse().ok()? })
        });
        read.ok_or_else(|| format!("SOFT_CUDA_MUTANT is not KERNEL:NUMBER: {text}"))
    }

    /// Leaves the instruction out of a module.
    pub(crate) fn apply(&self, module: &mut Module) -> Outcome {
        if module.kernel(&self.kernel).is_none() {
            return Outcome::Untouched;
        }
        let mut all = 0;
        let mut outcome = None;
        for function in &mut module.functions {
            for instruction in &mut function.code {
                let orders = matches!(
                    instruction.operation,
                    Operation::Barrier
                        | Operation::WarpBarrier { .. }
                        | Operation::Fence { scope: Scope::Device | Scope::System }
                );
                if orders && all == self.number {
                    let what = format!("{:?}", instruction.operation);
                    outcome = Some((what, function.name.clone(), instruction.line));
                    // A fence of a block orders nothing here that its barriers do not.
                    instruction.operation = Operation::Fence { scope: Scope::Block };
                }
                all += usize::from(orders);
            }
        }
        match outcome {
            Some((what, function, line)) => Outcome::LeftOut { what, function, line, all },
            None => Outcome::Over(all),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Untouched => write!(f, "nothing was left out"),
            Outcome::Over(all) => write!(f, "only {all} instructions order threads"),
            Outcome::LeftOut { what, function, line, all } => {
                write!(f, "left out of {all}: {what} in line {line} in {function}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::parse;

    #[test]
    fn one_instruction_is_left_out() {
        let text = ".version 7.5\n.target sm_75\n.address_size 64\n.entry k() {\nbar.sync 0;
            membar.cta;\nbar.warp.sync -1;\nmembar.gl;\nret;\n}";
        let leave_out = |kernel: &str, number| {
            let mut module = parse(text).unwrap();
            let outcome = Mutant { kernel: kernel.into(), number }.apply(&mut module);
            let code = module.functions.remove(0).code;
            let left = code.iter().filter(|one| one.operation != code[1].operation).count();
            (outcome, left)
        };
        assert_eq!(leave_out("other", 0), (Outcome::Untouched, 4));
        assert_eq!(leave_out("k", 3), (Outcome::Over(3), 4));
        let (outcome, left) = leave_out("k", 2);
        assert_eq!(left, 3);
        assert_eq!(outcome.to_string(), "left out of 3: Fence { scope: Device } in line 8 in k");
        assert!(leave_out("k", 0).0.to_string().contains("Barrier in line 5"));
        assert_eq!(Mutant::parse("k: 7"), Ok(Mutant { kernel: "k".into(), number: 7 }));
        assert!(Mutant::parse("k").is_err() && Mutant::parse("k:x").is_err());
    }
}
