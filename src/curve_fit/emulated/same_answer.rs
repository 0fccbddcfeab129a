//! Problems of `tests/entries/same_answer` on the emulated device: each is fitted alone and in a batch, and the results
//! are compared with those of a single fit on the CPU.

use super::on_device;
use super::questions::{Nearness, questions};
use super::suite::Place;
use crate::{Backend, CurveFit, Loss};

/// Allowed difference of a parameter, relative to its standard error. The device adds in another order than the CPU.
const CLOSE: Nearness = Nearness::Part(1e-6);
/// Problems whose models are used; others are skipped to save compilation time.
const MODELS: [&str; 3] = ["a decay", "a peak", "a width that is none"];

/// Maximum number of points; larger problems take an emulated device too long.
const POINTS: usize = 100;
const EVALUATIONS: usize = 200;

/// Results known to differ: name of the problem, and "alone" or "in a batch". The list can only shrink.
const DIFFERENT: &[(&str, &str)] = &[];

#[test]
fn the_device_answers_as_the_cpu() {
    on_device(answers);
}

fn answers(place: Place<'_>) {
    let all = questions();
    let program = |model: &CurveFit| model.program().map(|program| program.to_string());
    let of = |name: &str| all.iter().find(|q| q.name == name).and_then(|q| program(&q.model).ok());
    let models = MODELS.map(|name| of(name).expect("a question of that name"));
    let is_asked = |model: &CurveFit| {
        model.loss == Loss::Linear && program(model).is_ok_and(|p| models.contains(&p))
    };
    let (mut asked, mut wrong, mut mended) = (0, Vec::new(), Vec::new());
    for question in all.iter().filter(|question| is_asked(&question.model)) {
        let name = question.name.as_str();
        let alone = question.by(&question.model.clone().backend(Backend::Cpu));
        let is_long = alone.evaluations.is_some_and(|evaluations| evaluations > EVALUATIONS);
        if is_long || question.y.len() > POINTS {
            continue;
        }
        let model = place(question.model.clone());
        let batch = question.in_batch(&model, 5, 2);
        let there = [("alone", Some(question.by(&model))), ("in a batch", batch)];
        for (how, answer) in there.into_iter().filter_map(|(how, answer)| Some((how, answer?))) {
            asked += 1;
            match (alone.differs(&answer, CLOSE), DIFFERENT.contains(&(name, how))) {
                (Some(difference), false) => wrong.push(format!("{name}, {how}: {difference}")),
                (None, true) => mended.push((name.to_owned(), how)),
                _ => {}
            }
        }
    }
    assert!(asked > 100, "{asked} answers");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(mended.is_empty(), "delete these from the list of differences: {mended:#?}");
}
