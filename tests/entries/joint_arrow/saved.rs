//! Joint fits of many sets that are saved.

use super::problem::Problem;
use super::views::{AT, problems};
use dualfit::{Fit, JointFit};

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
}

/// Errors, correlations and bands to the last bit.
fn same(found: &Fit, expected: &Fit) {
    assert_eq!(bits(found.params()), bits(expected.params()));
    assert_eq!(bits(&found.std_errors()), bits(&expected.std_errors()));
    assert_eq!(bits(found.correlation().as_slice()), bits(expected.correlation().as_slice()));
    assert_eq!(bits(found.covariance().as_slice()), bits(expected.covariance().as_slice()));
    assert_eq!((found.rank(), found.undetermined()), (expected.rank(), expected.undetermined()));
    assert_eq!(bits(&[found.condition()]), bits(&[expected.condition()]));
    assert_eq!(found.to_string(), expected.to_string());
}

#[test]
fn joint_fits_of_many_sets_come_back_when_they_are_saved() {
    for problem in problems(40) {
        for traced in [false, true] {
            let joint = Problem { traced, ..problem.clone() }.joint();
            let text = joint.to_json().unwrap();
            let again = JointFit::from_json(&text).unwrap();
            assert_eq!(again.to_json().unwrap(), text);
            assert_eq!(again.to_string(), joint.to_string());
            same(again.fit(), joint.fit());
            assert_eq!(again.sets(), 40);
            let whole = Fit::from_json(&joint.fit().to_json().unwrap()).unwrap();
            same(&whole, joint.fit());
            for s in [0, 1, 2, 39] {
                let (found, expected) = (again.set(s).unwrap(), joint.set(s).unwrap());
                same(&found, &expected);
                for text in ["a/k", "a - c"] {
                    let errors =
                        [&found, &expected].map(|fit| fit.propagate(text).unwrap().std_error);
                    assert_eq!(bits(&errors[..1]), bits(&errors[1..]));
                }
                if traced {
                    let bands =
                        [&found, &expected].map(|fit| fit.confidence_band(&AT, 0.95).unwrap());
                    assert_eq!(bits(&bands[0].upper), bits(&bands[1].upper));
                    assert_eq!(bits(&bands[0].std_errors), bits(&bands[1].std_errors));
                }
            }
            // And through serde itself.
            let value = serde_json::to_value(&joint).unwrap();
            let third: JointFit = serde_json::from_value(value).unwrap();
            same(third.fit(), joint.fit());
        }
    }
}
