//! Every request of a leader gets the same reply from points in memory and from a source.

use super::parts::Part;
use crate::backend::stream::{
    Answer, At, Envelope, Question, Request, Said, Terms, read_reply, to_bytes,
};
use crate::curve_fit::CurveFit;
use crate::data::Data;
use crate::data::loss::{Estimator, Loss};
use crate::data::scaling::Units;
use crate::data::sigma::Sigma;
use crate::data::source::slices::SliceSource;
use crate::data::stream::Stream;
use crate::data::summary::Overview;

const POINTS: usize = 3 * 4096 + 77;
/// Identity of a model: names and values of the properties that leader and parts share.
type Model = Vec<(String, String)>;

const START: [f64; 3] = [2.0, 1.0, 0.3];

/// Returns the common reply of both parts.
fn both(parts: &mut [Part<'_>; 2], model: &Model, request: Request) -> Said {
    let what = format!("{request:?}");
    let question = to_bytes(&Envelope::new(model.clone(), request)).expect("a question");
    let [memory, stream] = parts.each_mut().map(|part| part.answer(&question).expect("an answer"));
    assert!(memory == stream, "{what}");
    read_reply(&memory).expect("a reply").said
}

/// Returns the totals over the points, from two requests.
fn overview(parts: &mut [Part<'_>; 2], model: &Model, terms: &Terms) -> Overview {
    for at_start in [false, true] {
        let request = Request::Look { terms: terms.clone(), at_start, most: 500 };
        assert!(matches!(both(parts, model, request), Said::Look(_)));
    }
    let units = Units { y: 8.0, weight: 0.5, row: 4.0 };
    let Said::LookAgain(_) = both(parts, model, Request::LookAgain { units }) else {
        panic!("no second look")
    };
    let request = Request::Look { terms: terms.clone(), at_start: true, most: 500 };
    let Said::Look(look) = both(parts, model, request) else { panic!("no look") };
    look.survey.overview(Estimator::LeastSquares).expect("an overview")
}

#[test]
fn every_question_has_the_same_answer() {
    let x: Vec<f64> = (0..POINTS).map(|i| 4.0 * i as f64 / POINTS as f64).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5 + (90.0 * x).sin()).collect();
    // Three points outweigh all others; the last one has the largest weight.
    let sigma: Vec<f64> = (0..POINTS)
        .map(|i| if i % 5000 == 7 { 1e-8 / i as f64 } else { 0.1 + 1e-6 * i as f64 })
        .collect();
    for loss in [Loss::Linear, Loss::Huber { scale: 2.0 }] {
        for chunk in [1, 4095, 4096, 4097, POINTS] {
            let curve = CurveFit::new(|x, [a, b, c]| a * (-b * x).exp() + c).loss(loss);
            let free = curve.free_positions();
            let identity =
                curve.shared_identity(&curve.ready(&free).expect("a model").model, &free);
            let model: Model =
                identity.0.into_iter().map(|(name, v)| (name.to_owned(), v)).collect();
            let model = &model;
            let data = Data::new(&x, &y).and_then(|data| data.sigma(Sigma::Absolute(&sigma)));
            let source = SliceSource::new(&x, &y).and_then(|source| source.sigma(&sigma));
            let stream = Stream::new(source.expect("a source")).chunk_points(chunk);
            let stream = stream.sigma(Sigma::AbsoluteColumn).expect("a stream");
            let mut parts = [
                Part::new(&curve, data.expect("data"), Part::GROUP).expect("a part"),
                Part::stream(&curve, stream, Part::GROUP).expect("a part"),
            ];
            assert!(matches!(both(&mut parts, model, Request::Held), Said::Held(_)));
            let at_start = Terms { loss, most_weight: f64::INFINITY, start: START.to_vec() };
            let overview = overview(&mut parts, model, &at_start);
            let params = vec![2.4, 1.2, 0.6];
            let at = At { params: params.clone(), columns: vec![1.0, 0.5, 2.0] };
            let nowhere = vec![f64::NAN, 1.0, 1.0];
            let questions = [
                Question::Normal(at.clone()),
                Question::Factor(at.clone()),
                Question::Magnitudes { params: params.clone() },
                Question::Heaviest { count: 5 },
                Question::LimitWeights,
                Question::HeavyRows(at),
                Question::IsExact { params: params.clone() },
                Question::FirstBadPoint { params },
                Question::FirstBadPoint { params: nowhere },
            ];
            for (most_weight, heavy) in [(f64::INFINITY, 0), (1e3, 3), (1e-6, POINTS)] {
                for question in &questions {
                    let terms = Terms { most_weight, ..at_start.clone() };
                    let question = question.clone();
                    let request = Request::Ask { overview, terms, question };
                    match both(&mut parts, model, request) {
                        Said::Answer(Answer::HeavyRows(rows)) => {
                            assert_eq!(rows.len(), 4 * heavy, "{chunk}");
                        }
                        said => assert!(matches!(said, Said::Answer(_)), "{chunk}"),
                    }
                }
            }
        }
    }
}
