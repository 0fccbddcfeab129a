//! Numbers of points at the borders of pieces, groups of pieces and chunks: all of them count.

use crate::stream::support::noise;
use dualfit::source::{FnSource, SliceSource, Source};
use dualfit::{Backend, CurveFit, Data, Error, Event, Fit, Stream, Termination};

const PIECE: usize = 4096;
/// Points of a group of pieces.
const GROUP: usize = 256 * PIECE;
const START: [f64; 2] = [1.0, 0.5];

fn decay() -> CurveFit {
    CurveFit::new(|x, [a, b]| a * (-b * x).exp()).backend(Backend::Cpu)
}

fn points(n: usize) -> (Vec<f64>, Vec<f64>) {
    // Noise of a period that no chunk has.
    let errors = noise(10_007, 0.1, 3);
    let x: Vec<f64> = (0..n).map(|i| 4.0 * i as f64 / n as f64).collect();
    let y = x.iter().enumerate().map(|(i, x)| 2.0 * (-0.7 * x).exp() + errors[i % 10_007]);
    let y = y.collect();
    (x, y)
}

fn assert_same(streamed: &Fit, whole: &Fit, what: &str) {
    assert_eq!(streamed.points(), whole.points(), "{what}");
    assert!(streamed.converged() && streamed.termination() != Termination::ExactFit, "{streamed}");
    assert!((streamed.cost() / whole.cost() - 1.0).abs() < 1e-11, "{what}: {streamed}\n{whole}");
    for i in 0..2 {
        let apart = (streamed.params()[i] - whole.params()[i]).abs();
        assert!(apart < 1e-6 * whole.std_errors()[i], "{what}: {streamed}\n{whole}");
        let errors = streamed.std_errors()[i] / whole.std_errors()[i];
        assert!((errors - 1.0).abs() < 1e-9, "{what}: {streamed}\n{whole}");
    }
}

#[test]
fn all_points_count_at_every_border() {
    let (x, y) = points(2 * GROUP + 1);
    let pieces = [PIECE, 2 * PIECE, 32 * PIECE].into_iter();
    let borders = pieces.flat_map(|border| [border - 1, border, border + 1]);
    let groups = [GROUP - PIECE, GROUP - PIECE + 1, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP];
    let groups = groups.into_iter().chain([2 * GROUP + 1]);
    for n in borders.chain(groups) {
        let (x, y) = (&x[..n], &y[..n]);
        let whole = decay().subsample(false).fit(Data::new(x, y).unwrap(), START).unwrap();
        let stream = Stream::new(SliceSource::new(x, y).unwrap()).subsample(n % 2 == 0);
        let streamed = decay().fit_stream(stream, START).unwrap();
        assert_same(&streamed, &whole, &format!("{n} points"));
        if n % 2 == 1 {
            let bits = crate::stream::support::bits;
            assert_eq!(bits(&streamed), bits(&whole), "{n} points");
        }
    }
}

/// The sums of a pass under way are kept wherever it is stopped, and those of whole groups are there.
#[test]
fn a_fit_that_is_stopped_at_a_border_of_a_group_goes_on() {
    let (x, y) = points(GROUP + 2 * PIECE);
    let folder = crate::stream::support::folder();
    let path = folder.path().join("fit.checkpoint");
    let stream = || {
        Stream::new(SliceSource::new(&x, &y).unwrap())
            .chunk_points(PIECE)
            .prefetch(0)
            .subsample(false)
    };
    let whole = decay().fit_stream(stream(), START).unwrap();
    for (pass, chunk) in [(1, 255), (1, 256), (1, 257), (2, 255), (2, 256), (2, 257)] {
        let stopping = decay().observe(move |event| match event {
            Event::Stream(now) if (now.pass, now.chunk) == (pass, chunk) => {
                std::ops::ControlFlow::Break(())
            }
            _ => std::ops::ControlFlow::Continue(()),
        });
        match stopping.fit_stream(stream().checkpoint(&path), START) {
            Ok(stopped) => assert_eq!(stopped.termination(), Termination::Stopped),
            Err(error) => assert_eq!((error, pass), (Error::StoppedInFirstPass, 1)),
        }
        let resumed = decay().fit_stream(stream().checkpoint(&path), START).unwrap();
        let bits = crate::stream::support::bits;
        assert_eq!(bits(&resumed), bits(&whole), "stopped in pass {pass} after chunk {chunk}");
    }
}

/// A source that says that it has more points than any has.
#[test]
fn a_number_of_points_that_cannot_be_ends() {
    struct Boaster<S>(S);
    impl<S: Source> Source for Boaster<S> {
        fn shape(&self) -> dualfit::source::Shape {
            dualfit::source::Shape { points: Some(u64::MAX), ..self.0.shape() }
        }
        fn rewind(&mut self) -> Result<(), dualfit::error::SourceError> {
            self.0.rewind()
        }
        fn read(
            &mut self,
            chunk: &mut dualfit::source::Chunk,
            most: usize,
        ) -> Result<usize, dualfit::error::SourceError> {
            self.0.read(chunk, most)
        }
        fn fingerprint(&self) -> Result<String, dualfit::error::SourceError> {
            self.0.fingerprint()
        }
    }
    let point = |i: u64| (i as f64 * 1e-3, 2.0 * (-0.7 * (i as f64 * 1e-3)).exp());
    let fit = decay().fit_stream(Boaster(FnSource::new(5000, point)), START);
    assert!(matches!(fit, Err(Error::Source(_))), "{fit:?}");
    // One that has them is stopped by who does not want to wait.
    let token = dualfit::CancelToken::new();
    let cancel = token.clone();
    let endless = FnSource::new(u64::MAX, move |i| {
        if i == 100_000 {
            cancel.cancel();
        }
        point(i % 5000)
    });
    let fit = decay().cancel_token(token).fit_stream(endless, START);
    assert_eq!(fit.unwrap_err(), Error::StoppedInFirstPass);
    let options = dualfit::Options::default().max_time(std::time::Duration::from_millis(20));
    let endless = FnSource::new(u64::MAX, move |i| point(i % 5000));
    let fit = decay().options(options).fit_stream(endless, START);
    assert_eq!(fit.unwrap_err(), Error::StoppedInFirstPass);
    // A chunk of more points than there are numbers is one of as many as memory allows.
    let few = FnSource::new(5000, point);
    let stream = Stream::new(few).chunk_points(usize::MAX);
    assert!(decay().fit_stream(stream, START).unwrap().converged());
}
