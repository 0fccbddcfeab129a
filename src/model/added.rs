//! Extra parameters that a model does not contain, for use in ties. They follow the model's own parameters.

use super::native::{ArrayCalls, Calls, Model, Native, PointCalls};
use std::sync::Arc;

impl Model {
    /// Returns the model with one more parameter, on which it does not depend.
    pub(crate) fn with_parameter(self, name: &str) -> Model {
        match self {
            Model::Traced(mut program) => {
                Arc::make_mut(&mut program).params.push(name.to_owned());
                Model::Traced(program)
            }
            Model::Native(native) => Model::Native(native.with_parameter()),
        }
    }
}

impl Native {
    /// Returns the function with one more parameter, which is not passed to the original function and its partials.
    fn with_parameter(mut self) -> Native {
        let own = self.params;
        self.calls = match self.calls {
            Calls::Points(PointCalls { value, jacobian }) => Calls::Points(PointCalls {
                value: Arc::new(move |x: &[f64], p: &[f64]| value(x, &p[..own])),
                jacobian: jacobian.map(|jacobian| {
                    let partials = move |x: &[f64], p: &[f64], out: &mut [f64]| {
                        let (out, added) = out.split_at_mut(own);
                        jacobian(x, &p[..own], out);
                        added.fill(0.0);
                    };
                    Arc::new(partials) as Arc<_>
                }),
            }),
            Calls::Arrays(ArrayCalls { value, jacobian, parallel }) => Calls::Arrays(ArrayCalls {
                value: Arc::new(move |x: &[&[f64]], p: &[f64], out: &mut [f64]| {
                    value(x, &p[..own], out);
                }),
                jacobian: jacobian.map(|jacobian| {
                    let partials = move |x: &[&[f64]], p: &[f64], rows: &mut [&mut [f64]]| {
                        let (rows, added) = rows.split_at_mut(own);
                        jacobian(x, &p[..own], rows);
                        added.iter_mut().for_each(|row| row.fill(0.0));
                    };
                    Arc::new(partials) as Arc<_>
                }),
                parallel,
            }),
        };
        self.params += 1;
        self.scales.push(f64::NAN);
        self
    }
}
