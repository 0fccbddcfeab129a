//! Plots of several sets: positions of the points and curves of each set, colours, the legend, and errors.

use crate::picture::Picture;
use crate::{NEAR, decay, points};
use dualfit::{CurveFit, Data, Fit, GlobalFit};
use dualfit_plot::{PlotError, SetsPlot};

/// Colours of the first two sets.
const PENS: [&str; 2] = ["#0072B2 16", "#D55E00 16"];

#[test]
fn each_set_has_its_points_and_its_curve() {
    let (x, low) = points(30);
    let high: Vec<f64> = low.iter().map(|y| y + 2.0).collect();
    let data = [&low, &high].map(|y| Data::new(&x, y).unwrap());
    let joint = GlobalFit::new(&decay()).share(["b"]);
    let joint = joint.fit(data.clone(), [("b", 1.0)]).unwrap();
    let fits: Vec<Fit> = (0..2).map(|set| joint.set(set).unwrap()).collect();
    let mut plot = SetsPlot::new().x_label("time / s").y_label("volt").band(0.95);
    for ((name, fit), data) in ["low", "a < b"].into_iter().zip(&fits).zip(&data) {
        plot = plot.set(name, fit, data.clone());
    }
    let svg = plot.to_svg().unwrap();
    let picture = Picture::of(&svg);
    let (across, up) = (picture.across(false), picture.up(false));
    // Two discs are samples of the legend.
    assert_eq!((picture.discs.len(), picture.areas.len()), (2 * 30 + 2, 2));
    for (set, y) in [&low, &high].into_iter().enumerate() {
        for (i, (cx, cy)) in picture.discs[30 * set..30 * (set + 1)].iter().enumerate() {
            let place = (across.place(x[i]), up.place(y[i]));
            assert!((cx - place.0).abs() < NEAR && (cy - place.1).abs() < NEAR, "{set} {i}");
        }
        // The sample of the legend has two points.
        let curve = picture.line(PENS[set]);
        assert!(curve.len() > 10);
        for (cx, cy) in &curve[..curve.len() - 2] {
            let model = fits[set].predict(&[across.value(*cx)]).unwrap()[0];
            assert!((cy - up.place(model)).abs() < 2.0 * NEAR, "{set}: {cx} {cy}");
        }
    }
    for text in ["low", "a &lt; b", "time / s", "volt"] {
        assert!(svg.contains(&format!(">{text}</text>")), "{text}");
    }
    let both = Picture::of(&plot.clone().residuals(true).to_svg().unwrap());
    assert_eq!(both.discs.len(), 4 * 30 + 2);
    // A logarithmic axis cannot show the first point, x = 0.
    let refused = plot.log_x(true).to_svg();
    assert_eq!(refused, Err(PlotError::NotPositive { axis: "x", index: 0, value: 0.0 }));
}

#[test]
fn many_sets_have_distinct_curves_and_a_short_legend() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let line = CurveFit::parse("a*x + b", ["x"]).unwrap();
    let all: Vec<[f64; 4]> = (0..20).map(|set| x.map(|x| x + f64::from(set))).collect();
    let fits: Vec<Fit> =
        all.iter().map(|y| line.fit(Data::new(&x, y).unwrap(), [1.0, 1.0]).unwrap()).collect();
    let mut plot = SetsPlot::new();
    for (set, (fit, y)) in fits.iter().zip(&all).enumerate() {
        plot = plot.set(&format!("run {set}"), fit, Data::new(&x, y).unwrap());
    }
    let svg = plot.to_svg().unwrap();
    let picture = Picture::of(&svg);
    assert_eq!(picture.discs.len(), 20 * 4 + 14);
    let named = picture.texts.iter().filter(|text| text.text.starts_with("run ")).count();
    assert_eq!(named, 14);
    assert!(svg.contains(">and 6 more</text>"), "{svg}");
    // Seven colours; the second and third seven are dashed.
    assert_eq!(svg.matches("stroke-dasharray").count(), 13 + 7);
}

#[test]
fn sets_that_cannot_be_drawn_are_refused() {
    let nothing = SetsPlot::new().to_svg();
    assert_eq!(nothing, Err(PlotError::Nothing { what: "no set was added" }));
    let (u, v) = ([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 2.0, 5.0]);
    let plane = CurveFit::parse("a*u + b*v", ["u", "v"]).unwrap();
    let data = Data::new([&u[..], &v[..]], &[1.0, 2.0, 3.0, 4.5]).unwrap();
    let fit = plane.fit(&data, [1.0, 1.0]).unwrap();
    let refused = SetsPlot::new().set("plane", &fit, &data).to_svg();
    assert_eq!(refused, Err(PlotError::Columns { columns: 2 }));
}
