//! Batches whose fits others make: the bits do not depend on who made what, no worker that is lost loses a fit, and nothing
//! that travels does harm.

mod damage;
mod kinds;

use dualfit::parts::Workers;
use dualfit::{
    BatchData, BatchFit, CancelToken, CurveFit, Error, Event, FitStatus, Loss, Options,
    SearchOptions, SearchWhen, Start,
};
use kinds::{decay, decays, each_kind, times};
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

const START: [f64; 3] = [15.0, 0.7, 3.0];

/// Everything that a user could see of a batch, as bits.
fn bits(batch: &BatchFit) -> (Vec<u64>, Vec<String>) {
    let covariances: Vec<f64> =
        batch.iter().flat_map(|fit| fit.covariance().unwrap_or_default().to_vec()).collect();
    let numbers =
        [batch.params(), batch.std_errors(), batch.costs(), batch.effective_points(), &covariances];
    let words = batch.iter().map(|fit| {
        let sides: Vec<_> = fit.at_bound().collect();
        format!(
            "{:?} {} {} {} {} {sides:?}",
            fit.status(),
            fit.points(),
            fit.rank(),
            fit.iterations(),
            fit.evaluations()
        )
    });
    (numbers.concat().into_iter().map(f64::to_bits).collect(), words.collect())
}

fn same(batch: &BatchFit, expected: &BatchFit, what: &str) {
    let ((a, words_a), (b, words_b)) = (bits(batch), bits(expected));
    let first = words_a.iter().zip(&words_b).position(|(a, b)| a != b);
    assert_eq!(words_a, words_b, "{what}, fit {first:?}, {}", batch.reason());
    let first = a.iter().zip(&b).position(|(a, b)| a != b);
    assert!(a == b, "{what}: number {first:?} of {} is another; {}", a.len(), batch.reason());
}

/// Modifies or drops the `n`th reply of this worker.
type Fate<'a> = dyn FnMut(usize, usize, Vec<u8>) -> io::Result<Vec<u8>> + Send + 'a;

/// Workers on the thread of the leader; their replies arrive in an order that a seed draws.
struct Bench<'a> {
    curves: Vec<CurveFit>,
    open: VecDeque<(usize, Vec<u8>)>,
    answered: usize,
    seed: u64,
    /// Questions, where they are to be kept.
    keep: Option<Vec<Vec<u8>>>,
    fate: Box<Fate<'a>>,
}

impl<'a> Bench<'a> {
    fn new(
        curves: Vec<CurveFit>,
        fate: impl FnMut(usize, usize, Vec<u8>) -> io::Result<Vec<u8>> + Send + 'a,
    ) -> Bench<'a> {
        let open = VecDeque::new();
        Bench { curves, open, answered: 0, seed: 1, keep: None, fate: Box::new(fate) }
    }

    fn of(curve: &CurveFit, workers: usize) -> Bench<'a> {
        Bench::new(vec![curve.clone(); workers], |_, _, answer| Ok(answer))
    }
}

impl Workers for Bench<'_> {
    fn count(&self) -> usize {
        self.curves.len()
    }

    fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()> {
        assert!(self.open.iter().all(|(other, _)| *other != worker), "worker {worker} is busy");
        self.open.push_back((worker, question.to_vec()));
        if let Some(keep) = &mut self.keep {
            keep.push(question.to_vec());
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)> {
        self.seed =
            self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let at = (self.seed >> 33) as usize % self.open.len();
        let (worker, question) = self.open.remove(at).expect("a worker that has a question");
        let answer = self.curves[worker].answer_batch(&question);
        self.answered += 1;
        Ok((worker, answer.and_then(|answer| (self.fate)(self.answered - 1, worker, answer))))
    }
}

/// On a thread that is a pool of itself, so that workers take all and the leader makes only what comes back.
fn workers_first<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(work)
}

#[test]
fn batches_of_all_kinds_have_the_bits_of_one_place() {
    each_kind(&|what, curve, data, starts| {
        let expected = curve.fit_batch(data, starts.clone()).unwrap();
        for workers in [0, 1, 3] {
            let mut bench = Bench::of(curve, workers);
            let batch = curve.fit_batch_parts(data, starts.clone(), &mut bench).unwrap();
            same(&batch, &expected, &format!("{what}, {workers} workers"));
        }
        let batch = workers_first(|| {
            curve.fit_batch_parts(data, starts.clone(), &mut Bench::of(curve, 2)).unwrap()
        });
        same(&batch, &expected, &format!("{what}, by workers only"));
        let parts = batch.parts().unwrap();
        assert!(parts.by_workers > 1 && parts.by_leader == 0, "{what}: {parts}");
        assert!(parts.lost.is_empty(), "{what}: {parts}");
    });
}

/// Threads, each with the channel of its requests.
struct Threads {
    questions: Vec<Sender<Vec<u8>>>,
    answers: Receiver<(usize, io::Result<Vec<u8>>)>,
}

impl Threads {
    fn new(curve: &CurveFit, workers: usize) -> Threads {
        let (answer, answers) = channel();
        let ask = |worker: usize| {
            let (question, asked) = channel::<Vec<u8>>();
            let (curve, answer) = (curve.clone(), answer.clone());
            std::thread::spawn(move || {
                for question in asked {
                    let _ = answer.send((worker, curve.answer_batch(&question)));
                }
            });
            question
        };
        Threads { questions: (0..workers).map(ask).collect(), answers }
    }
}

impl Workers for Threads {
    fn count(&self) -> usize {
        self.questions.len()
    }

    fn send(&mut self, worker: usize, question: &[u8]) -> io::Result<()> {
        self.questions[worker].send(question.to_vec()).map_err(io::Error::other)
    }

    fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)> {
        self.answers.recv().map_err(io::Error::other)
    }
}

#[test]
fn threads_make_batches_one_after_the_other() {
    let x = times(50);
    let curve = decay();
    let mut threads = Threads::new(&curve, 3);
    for fits in [0, 1, 163, 164, 165, 3000] {
        let stack = decays(&x, fits);
        let data = BatchData::shared(&x, &stack).unwrap();
        let expected = curve.fit_batch(&data, START).unwrap();
        for _ in 0..3 {
            let batch = curve.fit_batch_parts(&data, START, &mut threads).unwrap();
            same(&batch, &expected, &format!("{fits} fits"));
        }
    }
}

/// Portions of at least 8192 samples: exactly one portion, one more fit, and the remainder of two.
#[test]
fn borders_of_portions() {
    let x = times(64);
    let curve = decay();
    for (fits, portions) in [(1, 1), (127, 1), (128, 1), (129, 2), (256, 2), (257, 3)] {
        let stack = decays(&x, fits);
        let data = BatchData::shared(&x, &stack).unwrap();
        let expected = curve.fit_batch(&data, START).unwrap();
        let batch = workers_first(|| {
            curve.fit_batch_parts(&data, START, &mut Bench::of(&curve, 2)).unwrap()
        });
        same(&batch, &expected, &format!("{fits} fits"));
        assert_eq!(batch.parts().unwrap().by_workers, portions, "{fits} fits");
    }
}

#[test]
fn a_worker_may_be_lost_at_any_question() {
    let x = times(50);
    let stack = decays(&x, 2000);
    let data = BatchData::shared(&x, &stack).unwrap();
    let curve = decay();
    let expected = curve.fit_batch(&data, START).unwrap();
    let mut all = 0;
    for lost in 0.. {
        let fate = |n: usize, _: usize, answer: Vec<u8>| match n == lost {
            true => Err(io::Error::other("it was killed")),
            false => Ok(answer),
        };
        let bench = |workers| Bench::new(vec![curve.clone(); workers], fate);
        // Another worker takes its request.
        let batch = workers_first(|| curve.fit_batch_parts(&data, START, &mut bench(3)).unwrap());
        same(&batch, &expected, &format!("lost at question {lost}"));
        let parts = batch.parts().unwrap();
        all = parts.by_workers;
        if parts.lost.is_empty() {
            assert_eq!(lost, all);
            break;
        }
        assert_eq!((parts.lost.len(), parts.by_leader), (1, 0), "{parts}");
        assert!(batch.reason().contains("was lost: it was killed"), "{}", batch.reason());
        // The leader makes it, and all that is left.
        let batch = workers_first(|| curve.fit_batch_parts(&data, START, &mut bench(1)).unwrap());
        same(&batch, &expected, &format!("the only one, at question {lost}"));
        let parts = batch.parts().unwrap();
        assert_eq!((parts.by_workers, parts.lost.len()), (lost, 1), "{parts}");
        assert!(parts.by_leader > 0, "{parts}");
        // Beside a leader that makes portions, too.
        let batch = curve.fit_batch_parts(&data, START, &mut bench(2)).unwrap();
        same(&batch, &expected, "beside the leader");
    }
    assert!(all > 10, "{all} portions");
}

/// An engine that fails as a whole, in any of its ways, leaves a batch made by the leader.
#[test]
fn an_engine_may_fail() {
    struct Failing(usize, VecDeque<usize>);
    impl Workers for Failing {
        fn count(&self) -> usize {
            3
        }
        fn send(&mut self, worker: usize, _: &[u8]) -> io::Result<()> {
            self.1.push_back(worker);
            match self.0 {
                0 => Err(io::Error::other("no such worker")),
                1 => panic!("sending"),
                _ => Ok(()),
            }
        }
        fn receive(&mut self) -> io::Result<(usize, io::Result<Vec<u8>>)> {
            let worker = self.1.pop_front().expect("a question");
            match self.0 {
                2 => Err(io::Error::other("the network is down")),
                3 => panic!("receiving"),
                4 => Ok((77, Ok(Vec::new()))),
                5 => Ok((worker, Ok(Vec::new()))),
                _ => Ok((worker, Ok(b"dualfitA".to_vec()))),
            }
        }
    }
    let x = times(50);
    let stack = decays(&x, 1000);
    let data = BatchData::shared(&x, &stack).unwrap();
    let expected = decay().fit_batch(&data, START).unwrap();
    for (way, words) in
        ["no such worker", "sending", "is down", "receiving", "77", "damaged", "damaged"]
            .into_iter()
            .enumerate()
    {
        for workers_ask_first in [false, true] {
            let fit = || {
                let mut engine = Failing(way, VecDeque::new());
                decay().fit_batch_parts(&data, START, &mut engine).unwrap()
            };
            let batch = if workers_ask_first { workers_first(fit) } else { fit() };
            same(&batch, &expected, words);
            let parts = batch.parts().unwrap();
            assert_eq!(parts.by_workers, 0, "{parts}");
            if workers_ask_first {
                assert_eq!(parts.lost.len(), 3, "{parts}");
                assert!(batch.reason().contains(words), "{}", batch.reason());
            }
        }
    }
}

/// A worker of whom something else was said refuses, with the first thing that differs.
#[test]
fn who_disagrees_refuses() {
    let x = times(50);
    let stack = decays(&x, 500);
    let data = BatchData::shared(&x, &stack).unwrap();
    let ours = decay();
    let others = [
        (CurveFit::new(|x, [a, b, c]| a * (b * x).exp() + c), "model"),
        (decay().names(["a", "b", "c"]), "parameters"),
        (decay().bound("p1", 0.0..), "parameters"),
        (decay().fix("p2"), "parameters"),
        (decay().tie("p2", "p1*2"), "parameters"),
        (decay().loss(Loss::Huber { scale: 1.0 }), "loss"),
        (decay().loss(Loss::custom(1.0, |u| u * u).unwrap()), "loss"),
        (decay().options(Options::default().ftol(1e-7)), "options"),
        (decay().prior("p1", 1.0, 0.1), "priors"),
        (decay().clamp_start(true), "starts"),
        (decay().guess(|_| vec![f64::NAN; 3]), "starts"),
    ];
    for (other, word) in others {
        let mut bench = Bench::new(vec![ours.clone(), other.clone()], |_, _, answer| Ok(answer));
        let error = workers_first(|| ours.fit_batch_parts(&data, START, &mut bench).unwrap_err());
        assert!(matches!(error, Error::Worker(_)), "{error}");
        let text = error.to_string();
        let expected = format!("worker 1 refuses: it does not agree with the leader on {word}");
        assert!(text.starts_with(&expected), "{text}");
        // No question is left open.
        assert!(bench.open.is_empty());
    }
    // Another version: it follows the eight letters at the beginning of a reply.
    let foreign = |_: usize, _: usize, mut answer: Vec<u8>| {
        answer[8] = 2;
        Ok(answer)
    };
    let mut bench = Bench::new(vec![ours.clone()], foreign);
    let error = workers_first(|| ours.fit_batch_parts(&data, START, &mut bench).unwrap_err());
    assert!(error.to_string().contains("version 2"), "{error}");
    // A worker's own trouble, where the leader has none.
    let panics = decay().guess(|_| panic!("no table here"));
    let good = decay().guess(|_| vec![15.0, 0.7, 3.0]);
    let mut bench = Bench::new(vec![panics], |_, _, answer| Ok(answer));
    let error =
        workers_first(|| good.fit_batch_parts(&data, Start::Guess, &mut bench).unwrap_err());
    assert!(error.to_string().contains("no table here"), "{error}");
}

/// An invalid request gives the error of a local batch, whichever process finds it.
#[test]
fn errors_are_those_of_one_place() {
    let x = times(50);
    let mut stack = decays(&x, 2000);
    // Marks of two fits whose guesses are none.
    (stack[1700 * 50], stack[900 * 50]) = (1e4, 2e4);
    let data = BatchData::shared(&x, &stack).unwrap();
    let guess = decay().guess(|seen| match seen.y.first() {
        Some(&y) if y > 1e3 => vec![1.0; if y > 1.5e4 { 5 } else { 2 }],
        _ => vec![15.0, 0.7, 3.0],
    });
    let expected = guess.fit_batch(&data, Start::Guess).unwrap_err();
    assert!(expected.to_string().contains('5'), "{expected}");
    for workers in [0, 1, 3] {
        for _ in 0..5 {
            let mut bench = Bench::of(&guess, workers);
            let error = guess.fit_batch_parts(&data, Start::Guess, &mut bench).unwrap_err();
            assert_eq!(error, expected);
            let error = workers_first(|| {
                guess.fit_batch_parts(&data, Start::Guess, &mut Bench::of(&guess, workers))
            });
            assert_eq!(error.unwrap_err(), expected);
        }
    }
    let mut nobody = Bench::of(&guess, 2);
    let error = decay().fit_batch_parts(&data, [1.0], &mut nobody).unwrap_err();
    assert_eq!(error, decay().fit_batch(&data, [1.0]).unwrap_err());
    let never = decay().search(SearchOptions::default().when(SearchWhen::Never));
    let mut nobody = Bench::of(&never, 2);
    let error = never.fit_batch_parts(&data, Start::Guess, &mut nobody).unwrap_err();
    assert_eq!(error, never.fit_batch(&data, Start::Guess).unwrap_err());
    // A search looks at fits of the whole batch, wherever they are made.
    let mut bench = Bench::of(&decay(), 3);
    let searched = decay().fit_batch_parts(&data, Start::Guess, &mut bench).unwrap();
    same(&searched, &decay().fit_batch(&data, Start::Guess).unwrap(), "searched");
}

#[test]
fn a_token_ends_a_batch_and_leaves_the_workers_to_the_next() {
    let x = times(50);
    let stack = decays(&x, 3000);
    let data = BatchData::shared(&x, &stack).unwrap();
    let expected = decay().fit_batch(&data, START).unwrap();
    for shared in [false, true] {
        let token = CancelToken::new();
        let curve = decay().cancel_token(token.clone());
        // The workers hear the same token, or none.
        let theirs = if shared { curve.clone() } else { decay() };
        let mut bench = Bench::new(vec![theirs; 3], |n, _, answer| {
            if n == 2 {
                token.cancel();
            }
            Ok(answer)
        });
        let batch = workers_first(|| curve.fit_batch_parts(&data, START, &mut bench).unwrap());
        assert!(bench.open.is_empty());
        let counts = batch.counts();
        let made = batch.statuses().iter().filter(|s| **s != FitStatus::NotRun).count();
        assert!((100..3000).contains(&made), "{counts:?}");
        let parts = batch.parts().unwrap();
        assert!(parts.lost.is_empty(), "{parts}");
        for fit in (0..3000).filter(|&fit| batch.statuses()[fit] != FitStatus::NotRun) {
            assert_eq!(batch.fit(fit).params(), expected.fit(fit).params(), "fit {fit}");
        }
        // The same workers, whose curves have no token that is cancelled, serve the next.
        if !shared {
            let batch = decay().fit_batch_parts(&data, START, &mut bench).unwrap();
            same(&batch, &expected, "the next batch");
        }
    }
    // A worker whose own token was cancelled makes nothing, and others do.
    let token = CancelToken::new();
    token.cancel();
    let curves = vec![decay(), decay().cancel_token(token)];
    let mut bench = Bench::new(curves, |_, _, answer| Ok(answer));
    let batch = workers_first(|| decay().fit_batch_parts(&data, START, &mut bench).unwrap());
    same(&batch, &expected, "one was stopped");
    assert_eq!(batch.parts().unwrap().lost[0].reason, "it was stopped");
}

#[test]
fn an_observer_counts_stops_and_panics() {
    let x = times(50);
    let stack = decays(&x, 3000);
    let data = BatchData::shared(&x, &stack).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    let curve = decay().observe(move |event| {
        let Event::Batch(now) = event else { panic!("{event:?}") };
        assert_eq!(now.n_fits, 3000);
        told.lock().unwrap().push(now.finished);
        ControlFlow::Continue(())
    });
    for workers in [0, 1, 3] {
        seen.lock().unwrap().clear();
        curve.fit_batch_parts(&data, START, &mut Bench::of(&curve, workers)).unwrap();
        let seen = seen.lock().unwrap();
        assert!(seen.is_sorted() && seen.len() > 3, "{seen:?}");
        assert_eq!(seen.last(), Some(&3000), "{seen:?}");
    }
    let stops = decay().observe(|_| ControlFlow::Break(()));
    let mut bench = Bench::of(&stops, 3);
    let batch = stops.fit_batch_parts(&data, START, &mut bench).unwrap();
    assert!(bench.open.is_empty());
    assert!(batch.statuses().contains(&FitStatus::NotRun));
    assert!(batch.converged() > 0);
    let panics = decay().observe(|_| panic!("no room on the screen"));
    let error = panics.fit_batch_parts(&data, START, &mut Bench::of(&panics, 2)).unwrap_err();
    assert!(matches!(error, Error::ObserverPanicked { .. }), "{error}");
}
