//! Instructions at which lanes of a warp wait for each other: barriers of a warp, shuffles, votes and products of
//! matrices.

use super::Fault;
use super::block::LAUNCH_FAILED;
use super::numbers::{Lanes, lanes};
use super::step::Run;
use super::warp::State;
use crate::program::{Instruction, Operand, Operation, Shuffle, Vote};

/// Makes the lanes of `mask`, which have reached an instruction, wait for the lanes in their own masks. `named`: the
/// operand with each lane's mask. The instruction is executed when all of these lanes have arrived.
///
/// # Errors
/// If a lane's mask does not contain the lane itself, and as [`meet`].
pub(crate) fn arrive(
    run: &mut Run<'_, '_>,
    (frame, at): (usize, usize),
    instruction: &Instruction,
    named: Operand,
    mask: u32,
) -> Result<(), Fault> {
    let named = run.values(frame, named);
    let mistake = run.block.mistake_at((run.warp.frames[frame].function, at));
    for l in lanes(mask) {
        let named = mistake.map_or(named[l] as u32, |mutant| mutant.mask(l, named[l] as u32));
        if named >> l & 1 == 0 {
            let what = "a lane that its own mask does not name";
            return Err(run.fault(LAUNCH_FAILED, what, instruction.line, 1 << l));
        }
        run.warp.lane[l].state = State::AtWarp(named);
    }
    meet(run, at, instruction, mask)
}

/// Executes the instruction for lanes whose masks are complete, and lets them continue. `mask`: the lanes that have
/// just arrived at instruction `at`.
///
/// # Errors
/// If a lane reads from a lane that does not take part, or waits for a lane that has ended. PTX allows ended lanes in
/// the masks of barriers and votes. Here they are an error: no kernel needs them, and the error reveals masks that are
/// too wide.
fn meet(
    run: &mut Run<'_, '_>,
    at: usize,
    instruction: &Instruction,
    mask: u32,
) -> Result<(), Fault> {
    for l in lanes(mask) {
        let State::AtWarp(named) = run.warp.lane[l].state else { continue };
        let gone = run.warp.gone();
        let needed = named & !gone;
        let has_come = |other: usize| {
            let lane = run.warp.lane[other];
            lane.state == State::AtWarp(named) && is_here(run, other, at, instruction)
        };
        if !lanes(needed).all(has_come) {
            continue;
        }
        if named & gone != 0 {
            let what = "a lane that waits for lanes that have ended";
            return Err(run.fault(LAUNCH_FAILED, what, instruction.line, 1 << l));
        }
        exchange(run, instruction, needed)?;
        for other in lanes(needed) {
            run.warp.lane[other].state = State::Runs;
            run.warp.lane[other].at += 1;
        }
    }
    Ok(())
}

/// Returns true if a waiting lane is at the same instruction. Any two barriers of a warp count as the same.
fn is_here(run: &Run<'_, '_>, lane: usize, at: usize, instruction: &Instruction) -> bool {
    let place = run.warp.lane[lane];
    if !matches!(instruction.operation, Operation::WarpBarrier { .. }) {
        return place.at == at;
    }
    let function = &run.loaded.module.functions[run.warp.frames[place.frame].function];
    matches!(function.code[place.at].operation, Operation::WarpBarrier { .. })
}

fn exchange(run: &mut Run<'_, '_>, instruction: &Instruction, needed: u32) -> Result<(), Fault> {
    let mut out: Lanes = [0; 32];
    match instruction.operation {
        Operation::WarpBarrier { .. } => {
            if let Some(races) = &mut run.block.races {
                let threads: Vec<usize> = lanes(needed).map(|l| run.warp.first + l).collect();
                races.join(&threads);
            }
        }
        Operation::Vote { kind, to, predicate, negated, .. } => {
            let holds = |l: &usize| (own(run, *l, predicate) & 1 == 1) != negated;
            let ballot: u32 = lanes(needed).filter(holds).map(|l| 1 << l).sum();
            let answer = match kind {
                Vote::Any => (ballot != 0).into(),
                Vote::All => (ballot == needed).into(),
                Vote::Uniform => (ballot == 0 || ballot == needed).into(),
                Vote::Ballot => ballot.into(),
            };
            out.fill(answer);
            lanes(needed).for_each(|l| run.set(run.warp.lane[l].frame, to, &out, 1 << l));
        }
        Operation::Shuffle { kind, to, in_range, value, lane, clamp, .. } => {
            let values: Lanes =
                std::array::from_fn(|l| if needed >> l & 1 == 1 { own(run, l, value) } else { 0 });
            let mut answered: Lanes = [0; 32];
            for l in lanes(needed) {
                let (by, bounds) = (own(run, l, lane) as u32 & 31, own(run, l, clamp));
                let (from, is_in_range) = source(kind, l as u32, by, bounds);
                if needed >> from & 1 == 0 {
                    let what = "a shuffle from a lane that does not take part";
                    return Err(run.fault(LAUNCH_FAILED, what, instruction.line, 1 << l));
                }
                out[l] = values[from as usize] & 0xffff_ffff;
                answered[l] = is_in_range.into();
            }
            for l in lanes(needed) {
                let frame = run.warp.lane[l].frame;
                run.set(frame, to, &out, 1 << l);
                if let Some(in_range) = in_range {
                    run.set(frame, in_range, &answered, 1 << l);
                }
            }
        }
        Operation::Matrix { to, left, right, sums } => {
            let [left, right] = [left, right].map(|operand| owns(run, operand));
            let sums = sums.map(|operand| owns(run, operand));
            for (register, products) in to.into_iter().zip(multiply_add(&left, &right, sums)) {
                lanes(needed)
                    .for_each(|l| run.set(run.warp.lane[l].frame, register, &products, 1 << l));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns sums + products of two matrices, as `mma.m8n8k4` of `f64` distributes them: lane l has the numbers (l / 4,
/// l % 4) of the left and (l % 4, l / 4) of the right factor, and the sums (l / 4, 2 (l % 4)) and (l / 4, 2 (l % 4) + 1).
/// Each sum takes its products one after the other.
fn multiply_add(left: &Lanes, right: &Lanes, mut sums: [Lanes; 2]) -> [Lanes; 2] {
    for (e, sums) in sums.iter_mut().enumerate() {
        for (l, sum) in sums.iter_mut().enumerate() {
            let (row, column) = (l / 4, l % 4 * 2 + e);
            let add = |sum: f64, k: usize| {
                let [a, b] = [left[4 * row + k], right[4 * column + k]].map(f64::from_bits);
                a.mul_add(b, sum)
            };
            *sum = (0..4).fold(f64::from_bits(*sum), add).to_bits();
        }
    }
    sums
}

/// Returns an operand's values, each in the lane's own frame.
fn owns(run: &Run<'_, '_>, operand: Operand) -> Lanes {
    std::array::from_fn(|lane| own(run, lane, operand))
}

/// Returns an operand's value for a lane, in the lane's own frame.
fn own(run: &Run<'_, '_>, lane: usize, operand: Operand) -> u64 {
    run.values(run.warp.lane[lane].frame, operand)[lane]
}

/// Returns the source lane of a shuffle, and true if it is within the segment; otherwise the lane itself and false.
fn source(kind: Shuffle, lane: u32, by: u32, bounds: u64) -> (u32, bool) {
    let (clamp, segment) = (bounds as u32 & 31, (bounds >> 8) as u32 & 31);
    let (most, least) = ((lane & segment) | (clamp & !segment), lane & segment);
    let (from, is_in_range) = match kind {
        Shuffle::Up => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
        Shuffle::Down => (lane + by, lane + by <= most),
        Shuffle::Butterfly => (lane ^ by, lane ^ by <= most),
        Shuffle::Index => {
            let from = least | (by & !segment);
            (from, from <= most)
        }
    };
    if is_in_range { (from & 31, true) } else { (lane, false) }
}
