//! Vectors and arrays of other crates as data, and matrices converted from and to theirs.
#![cfg(any(feature = "nalgebra", feature = "ndarray"))]

use dualfit::Fit;

fn line(fit: &Fit) {
    assert!(
        (fit.params()[0] - 2.0).abs() < 1e-12 && (fit.params()[1] - 1.0).abs() < 1e-12,
        "{fit}"
    );
}

const X: [f64; 4] = [0.0, 1.0, 2.0, 3.0];
const Y: [f64; 4] = [1.0, 3.0, 5.0, 7.0];

#[cfg(feature = "nalgebra")]
mod of_nalgebra {
    use super::{X, Y, line};
    use dualfit::nalgebra::{DMatrix, DVector, SVector};
    use dualfit::{CurveFit, Data, Error, Matrix, curve_fit};

    #[test]
    fn vectors_are_columns() {
        let (x, y) = (DVector::from_row_slice(&X), SVector::<f32, 4>::from(Y.map(|y| y as f32)));
        line(&curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 0.0]).unwrap());
        line(&curve_fit(|x, [a, b]| a * x + b, &x, &x.map(|x| 2.0 * x + 1.0), [1.0, 0.0]).unwrap());
        line(&curve_fit(|[x, z], [a, b]| a * x + b + 0.0 * z, [&x, &x], &y, [1.0, 0.0]).unwrap());

        let both = DMatrix::from_fn(4, 2, |i, j| if j == 0 { X[i] } else { 1.0 });
        line(&curve_fit(|x: Vec<_>, [a, b]| a * x[0] + b * x[1], &both, &y, [1.0, 0.0]).unwrap());
        line(&curve_fit(|x, [a, b]| a * x + b, &both.column(0), &y, [1.0, 0.0]).unwrap());
        let fit = CurveFit::new(|x, [a, b]| a * x + b)
            .fit(Data::new(&x, &y).unwrap(), [1.0, 0.0])
            .unwrap();
        assert_eq!(fit.predict(&x).unwrap(), fit.predict(&X).unwrap());
        assert!(matches!(
            Data::new(&DMatrix::<f64>::zeros(0, 2), &DVector::<f64>::zeros(0)),
            Err(Error::EmptyData { .. })
        ));
    }

    #[test]
    fn matrices_are_converted_both_ways() {
        let matrix = Matrix::from_fn(2, 3, |i, j| (10 * i + j) as f64);
        let converted: DMatrix<f64> = matrix.clone().into();
        assert_eq!(converted, DMatrix::from_fn(2, 3, |i, j| (10 * i + j) as f64));
        assert_eq!(Matrix::from(&converted), matrix);
        let part = Matrix::from(&converted.columns(1, 2));
        assert_eq!(part, Matrix::from_rows([[1.0, 2.0], [11.0, 12.0]]).unwrap());
    }
}

#[cfg(feature = "ndarray")]
mod of_ndarray {
    use super::{X, Y, line};
    use dualfit::error::LayoutError;
    use dualfit::{Data, Error, Matrix, curve_fit};
    use ndarray::{Array1, Array2, ShapeBuilder, arr1, s};

    #[test]
    fn arrays_and_views_are_columns() {
        let (x, y): (Array1<f64>, Array1<f32>) = (arr1(&X), arr1(&Y.map(|y| y as f32)));
        line(&curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 0.0]).unwrap());
        line(
            &curve_fit(|x, [a, b]| a * x + b, &x.slice(s![1..]), &y.slice(s![1..]), [1.0, 0.0])
                .unwrap(),
        );
        line(
            &curve_fit(|[x, z], [a, b]| a * x + b * z / z, [&x, &(&x + 1.0)], &y, [1.0, 0.0])
                .unwrap(),
        );
        line(&curve_fit(|x, [a, b]| a * x + b, &X, &y, [1.0, 0.0]).unwrap());
    }

    #[test]
    fn rows_of_a_matrix_are_columns_of_the_data() {
        let rows = Array2::from_shape_fn((2, 4), |(j, i)| if j == 0 { X[i] } else { 1.0 });
        let fortran = Array2::from_shape_fn((4, 2).f(), |(i, j)| rows[(j, i)]);
        for x in [rows.view(), fortran.t()] {
            line(&curve_fit(|x: Vec<_>, [a, b]| a * x[0] + b * x[1], &x, &Y, [1.0, 0.0]).unwrap());
        }
    }

    #[test]
    fn what_does_not_lie_side_by_side_is_refused_with_the_remedy() {
        let table = Array2::from_shape_fn((4, 2), |(i, j)| if j == 0 { X[i] } else { Y[i] });
        let (x, y) = (table.column(0), table.column(1));
        let expected = LayoutError { shape: vec![4], strides: vec![2] };
        for refused in [
            Data::new(&X, &y).unwrap_err(),
            Data::new(&x, &Y).unwrap_err(),
            Data::new([&x, &y], &Y).unwrap_err(),
        ] {
            assert_eq!(refused, Error::Layout(expected.clone()));
        }
        assert!(expected.to_string().contains("as_standard_layout()"));
        let transposed = table.t();
        assert!(
            matches!(Data::new(&transposed, &Y), Err(Error::Layout(LayoutError { shape, .. })) if shape == [2, 4])
        );
        let mut backwards = ndarray::arr1(&X);
        backwards.invert_axis(ndarray::Axis(0));
        assert!(matches!(Data::new(&backwards, &Y), Err(Error::Layout(_))));

        let (x, y) = (x.as_standard_layout(), y.as_standard_layout());
        line(&curve_fit(|x, [a, b]| a * x + b, &x, &y, [1.0, 0.0]).unwrap());
    }

    #[test]
    fn matrices_are_converted_both_ways() {
        let matrix = Matrix::from_fn(2, 3, |i, j| (10 * i + j) as f64);
        let converted: Array2<f64> = matrix.clone().into();
        assert_eq!(converted, Array2::from_shape_fn((2, 3), |(i, j)| (10 * i + j) as f64));
        assert_eq!(Matrix::from(&converted), matrix);
        let part = Matrix::from(&converted.slice(s![.., 1..]).t());
        assert_eq!(part, Matrix::from_rows([[1.0, 11.0], [2.0, 12.0]]).unwrap());
    }
}
