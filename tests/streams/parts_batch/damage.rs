//! Bytes from anywhere, to workers and to the leader: an error, and no panic, nor memory without end.

use super::kinds::{decay, decays, each_kind, times};
use super::{Bench, START, same, workers_first};
use dualfit::BatchData;
use std::io::ErrorKind;
use std::sync::Mutex;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// Ends cut off, bytes added, taken out, turned and replaced.
    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            // Most of a message are numbers; what they are about is in front and behind.
            let near = |random: &mut Random, len: usize| match random.below(3) {
                0 => random.below(len.min(700)),
                1 => len - 1 - random.below(len.min(700)),
                _ => random.below(len),
            };
            match self.below(6) {
                0 => bytes.truncate(self.below(bytes.len() + 1)),
                1 => bytes.extend((0..self.below(9)).map(|_| 0xff)),
                _ if bytes.is_empty() => {}
                2 => {
                    let at = near(self, bytes.len());
                    bytes.remove(at);
                }
                3 => {
                    let at = near(self, bytes.len());
                    bytes.insert(at, 0xff);
                }
                4 => {
                    let at = near(self, bytes.len());
                    bytes[at] = [0, 0xff, 0x80, 1, self.below(256) as u8][self.below(5)];
                }
                _ => {
                    let at = near(self, bytes.len());
                    bytes[at] ^= 1 << self.below(8);
                }
            }
        }
    }
}

#[test]
fn questions_from_anywhere_do_no_harm() {
    // A request and its curve, of each kind of batch; the shortest, since each is processed many times.
    let questions = Mutex::new(Vec::new());
    workers_first(|| {
        each_kind(&|_, curve, data, starts| {
            let mut bench = Bench::of(curve, 1);
            bench.keep = Some(Vec::new());
            curve.fit_batch_parts(data, starts, &mut bench).unwrap();
            let kept = bench.keep.unwrap_or_default();
            let shortest = kept.into_iter().min_by_key(Vec::len).expect("a question");
            questions.lock().unwrap().push((curve.clone(), shortest));
        });
    });
    let questions = questions.into_inner().unwrap();
    let mut random = Random(88_172_645_463_325_252);
    let (mut refused, mut answered) = (0, 0);
    for round in 0..10_000 {
        let (curve, question) = &questions[round % questions.len()];
        let mut bytes = question.clone();
        random.damage(&mut bytes);
        match curve.answer_batch(&bytes) {
            Ok(_) => answered += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 2500 && answered > 500, "{refused} {answered}");
}

#[test]
fn answers_from_anywhere_do_no_harm() {
    let x = times(5);
    let stack = decays(&x, 6);
    let data = BatchData::shared(&x, &stack).unwrap();
    let curve = decay().bound("p1", 0.1..=3.0).keep_covariance(true);
    let expected = curve.fit_batch(&data, START).unwrap();
    let mut random = Random(2_463_534_242);
    let (mut refused, mut lost, mut understood) = (0, 0, 0);
    workers_first(|| {
        for round in 0..10_000 {
            let fate = |_: usize, _: usize, mut answer: Vec<u8>| {
                random.damage(&mut answer);
                Ok(answer)
            };
            let mut bench = Bench::new(vec![curve.clone()], fate);
            match curve.fit_batch_parts(&data, START, &mut bench) {
                // It says that it refuses, or is of another version.
                Err(_) => refused += 1,
                Ok(batch) => match batch.parts().map(|parts| parts.lost.len()) {
                    Some(1) => {
                        same(&batch, &expected, &format!("round {round}"));
                        lost += 1;
                    }
                    _ => {
                        // Numbers that are others are not known to be; all can be shown.
                        assert_eq!(batch.n_fits(), 6);
                        assert!(!batch.to_string().is_empty());
                        assert!(!batch.table().to_string().is_empty());
                        understood += 1;
                    }
                },
            }
        }
    });
    assert!(lost > 2500 && understood > 500 && refused > 0, "{lost} {understood} {refused}");
}
