//! Every entry goes the same way from a far start.

use super::support::{Points, START, decay, losses};
use dualfit::source::SliceSource;
use dualfit::{BatchData, GlobalFit, Loss, MultiStart, Sigma, Stream};

#[test]
fn all_entries_end_alike() {
    for sigma in [0.1, 1e-4, 1e-8] {
        for loss in losses() {
            let none = loss == Loss::Linear;
            let outliers = |each| if none { None } else { Some(each) };
            let points = Points::new(11, sigma, outliers(6));
            let others = Points::new(12, sigma, outliers(5));
            let model = decay().loss(loss);
            let single = model.fit(points.data(), START).unwrap();
            let what = format!("{loss:?}, sigma {sigma:e}");
            assert!(single.converged() && single.warnings().is_empty(), "{what}: {single}");
            let same = |params: &[f64], effective: f64, of: &str| {
                for ((p, q), e) in params.iter().zip(single.params()).zip(single.std_errors()) {
                    let apart = (p - q).abs() / e;
                    assert!(
                        apart < 1e-6 + (1e-12 / sigma).sqrt(),
                        "{what}, {of}: {apart:e} errors apart"
                    );
                }
                let ratio = effective / single.effective_points();
                assert!(
                    (ratio - 1.0).abs() < 1e-6 + (1e-12 / sigma).sqrt(),
                    "{what}, {of}: {effective}"
                );
            };

            let stack = [&points.y, &others.y, &points.y].map(Vec::as_slice).concat();
            for fits in [1, 3] {
                let data = BatchData::shared(&points.x, &stack[..60 * fits]).unwrap();
                let data = data.sigma(Sigma::Constant(sigma)).unwrap();
                let batch = model.fit_batch(data, START).unwrap();
                for fit in batch.iter().step_by(2) {
                    assert!(fit.converged(), "{what}: {}", fit.status());
                    same(fit.params(), fit.effective_points(), "batch");
                    // Rounding may need one more evaluation; a check of the start must not.
                    let (here, there) = (fit.evaluations() as usize, single.evaluations());
                    assert!(here.abs_diff(there) <= 3 + there / 8, "{what}: {here}, {there}");
                }
            }

            let column = vec![sigma; 60];
            let source = SliceSource::new(&points.x, &points.y).unwrap().sigma(&column).unwrap();
            let stream = Stream::new(source).sigma(Sigma::AbsoluteColumn).unwrap().chunk_points(17);
            let streamed = model.fit_stream(stream.subsample(false), START).unwrap();
            assert!(streamed.converged(), "{what}: {streamed}");
            same(streamed.params(), streamed.effective_points(), "stream");

            let joint = GlobalFit::new(&model).fit(vec![points.data()], START).unwrap();
            assert!(joint.converged(), "{what}: {joint}");
            same(joint.fit().params(), joint.fit().effective_points(), "joint");

            let alone = model.multi_start(points.data(), START, &MultiStart::new(0)).unwrap();
            let best = alone.best();
            assert!(best.converged(), "{what}: {best}");
            same(best.params(), best.effective_points(), "multi_start");
        }
    }
}
