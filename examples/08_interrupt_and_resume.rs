//! Lesson 8: Ctrl-C stops a fit after the current chunk, and the next run resumes there and reaches the same bits.
//!
//! Files are written to the folder in the first argument, or to `target`. The second argument is the number of points;
//! use 200000000 to have time for a Ctrl-C. Without a Ctrl-C, the lesson cancels the fit by itself.

use dualfit::progress::StreamProgress;
use dualfit::{CancelToken, CurveFit, Event, Stream, Termination};
use dualfit_io::NumberType::F64;
use dualfit_io::{RawFile, RawSource};
use rand::{SeedableRng, rngs::StdRng};
use rand_distr::{Distribution, Normal};
use std::io::{BufWriter, Write};
use std::{error::Error, fs, ops::ControlFlow, path::Path};

const TRUTH: [f64; 3] = [2.0, 0.5, 0.3];
const START: [f64; 3] = [1.0, 1.0, 0.0];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "target".into());
    let points: u64 = arguments.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let file = Path::new(&folder).join("decay.bin");
    let checkpoint = Path::new(&folder).join("decay.checkpoint");
    if fs::metadata(&file).map_or(0, |file| file.len()) != 16 * points {
        measure(&file, points)?;
    }

    // The handler only sets a flag. The fit checks it after each chunk.
    let ctrl_c = CancelToken::new();
    let handler = ctrl_c.clone();
    ctrlc::set_handler(move || handler.cancel())?;

    let decay = CurveFit::new(|t, [a, b, c]| a * (-b * t).exp() + c);
    let source = || RawSource::open([RawFile::new(&file, [F64, F64])]);
    let kept = || -> Result<_, dualfit::error::SourceError> {
        Ok(Stream::new(source()?).checkpoint(&checkpoint))
    };

    if !checkpoint.exists() {
        let token = CancelToken::new();
        let (pressed, asked) = (token.clone(), ctrl_c.clone());
        let press = move |event: &Event<'_>| {
            let third = |now: &StreamProgress| (now.pass, now.chunk) == (2, 3);
            let third = matches!(event, Event::Stream(now) if third(now));
            if asked.is_cancelled() || third {
                pressed.cancel();
            }
            ControlFlow::Continue(())
        };
        let fit = decay.clone().observe(press).cancel_token(token).fit_stream(kept()?, START)?;
        let bytes = fs::metadata(&checkpoint)?.len();
        println!("{}", fit.termination());
        println!("what is known of {points} points is kept in {bytes} bytes\n");
    }

    let fit = decay.clone().cancel_token(ctrl_c.clone()).fit_stream(kept()?, START)?;
    if fit.termination() == Termination::Stopped {
        println!("Stopped. Run this again to go on from {}.", checkpoint.display());
        return Ok(());
    }
    println!("{fit}\n");
    let stats = fit.stats().stream.as_ref().ok_or("a stream has its statistics")?;
    println!("passes of this run {}, from the checkpoint {}", stats.passes, stats.resumed_passes);

    let uninterrupted = decay.fit_stream(source()?, START)?;
    let same =
        fit.params() == uninterrupted.params() && fit.covariance() == uninterrupted.covariance();
    println!("the same bits as without a stop: {same}\n");
    for ((p, s), truth) in fit.params().iter().zip(fit.std_errors()).zip(TRUTH) {
        println!("{p:>9.5} ± {s:<9.5} truth {truth}");
    }
    fs::remove_file(&file)?;
    Ok(())
}

/// Simulates the measurement and writes rows of a time and a signal.
fn measure(file: &Path, points: u64) -> Result<(), Box<dyn Error>> {
    let (noise, mut random) = (Normal::new(0.0, 0.1)?, StdRng::seed_from_u64(8));
    let mut out = BufWriter::new(fs::File::create(file)?);
    for i in 0..points {
        let t = 10.0 * i as f64 / points as f64;
        let y = TRUTH[0] * (-TRUTH[1] * t).exp() + TRUTH[2] + noise.sample(&mut random);
        out.write_all(&t.to_le_bytes())?;
        out.write_all(&y.to_le_bytes())?;
    }
    Ok(out.into_inner()?.sync_all()?)
}
