//! Plots: contents of the pictures, written files, and errors.

mod picture;
mod sets;

use dualfit::result::ContourOptions;
use dualfit::{CurveFit, Data, Error, Estimator, Fit, Sigma, models};
use dualfit_plot::{ContourPlot, FitPlot, MapPlot, PlotError, ProfilePlot};
use picture::Picture;
use std::f64::consts::TAU;
use std::path::PathBuf;

fn decay() -> CurveFit {
    CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap()
}

fn points(count: u32) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..count).map(|i| 4.0 * f64::from(i) / f64::from(count)).collect();
    let y = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5 + 0.05 * (400.0 * x).sin()).collect();
    (x, y)
}

fn fit(data: &Data<'_>) -> Fit {
    decay().fit(data.clone(), [1.0, 1.0, 1.0]).unwrap()
}

/// Parses a picture as XML and returns a function that counts the elements with a tag.
fn well_formed(svg: &str) -> impl Fn(&str) -> usize + '_ {
    Picture::of(svg);
    move |tag| svg.matches(&format!("<{tag} ")).count()
}

/// Tolerance of positions that are read from a picture, in tenths of a pixel: ticks are rounded to a tenth.
const NEAR: f64 = 4.0;

/// Checks the positions of all points and of the curve against the tick labels of the axes.
#[track_caller]
fn drawn_as_given(svg: &str, fit: &Fit, x: &[f64], y: &[f64], (log_x, log_y): (bool, bool)) {
    let picture = Picture::of(svg);
    let (across, up) = (picture.across(log_x), picture.up(log_y));
    for (i, &(cx, cy)) in picture.discs[..x.len()].iter().enumerate() {
        let place = (across.place(x[i]), up.place(y[i]));
        let near = (cx - place.0).abs() < NEAR && (cy - place.1).abs() < NEAR;
        assert!(near, "point {i}: {cx} {cy} and not {place:?}");
    }
    let curve = picture.line("#D55E00 16");
    assert!(curve.len() > 1);
    for (cx, cy) in curve {
        let model = fit.predict(&[across.value(cx)]).unwrap()[0];
        let steep = fit.predict(&[across.value(cx + 2.0), across.value(cx - 2.0)]).unwrap();
        let slack = (up.place(steep[0]) - up.place(steep[1])).abs();
        assert!((cy - up.place(model)).abs() < NEAR + slack, "{cx} {cy}: {}", up.place(model));
    }
}

#[test]
fn every_point_has_its_mark() {
    let (x, y) = points(60);
    let sigma = vec![0.05; 60];
    let mut mask = vec![true; 60];
    mask[7] = false;
    let data =
        Data::new(&x, &y).unwrap().sigma(Sigma::Absolute(&sigma)).unwrap().mask(&mask).unwrap();
    let fit = fit(&data);
    let plain = FitPlot::new(&fit, &data).legend(false);
    let svg = plain.to_svg().unwrap();
    let count = well_formed(&svg);
    // A ring consists of a disc and a white disc on top.
    assert_eq!(count("circle"), 59 + 2);
    assert_eq!(svg.matches("stroke=\"#8C8C8C\"").count(), 59, "error bars");
    assert_eq!(svg.matches("stroke=\"#D55E00\"").count(), 1, "the curve");
    assert_eq!(count("polygon"), 0);

    let full = plain.band(0.95).residuals(true).legend(true).x_label("time / s").title("A < B & C");
    let svg = full.to_svg().unwrap();
    let count = well_formed(&svg);
    assert_eq!(count("circle"), 2 * (59 + 2) + 1 + 2);
    assert_eq!(count("polygon"), 2, "the band and its entry");
    for text in ["time / s", "residual / σ", "95 % confidence", "masked", "A &lt; B &amp; C"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.len() < 60_000, "{}", svg.len());
}

#[test]
fn points_and_curve_lie_where_the_axes_say() {
    let (x, y) = points(50);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let plain = FitPlot::new(&fit, &data).legend(false);
    drawn_as_given(&plain.to_svg().unwrap(), &fit, &x, &y, (false, false));
}

/// The band and its ends are at the positions that the fit computes.
#[test]
fn bands_lie_where_the_axes_say() {
    let (x, y) = points(50);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let svg = FitPlot::new(&fit, &data).legend(false).band(0.95).to_svg().unwrap();
    let picture = Picture::of(&svg);
    let (across, up) = (picture.across(false), picture.up(false));
    let [area] = &picture.areas[..] else { panic!("{}", picture.areas.len()) };
    for &(cx, cy) in area {
        let band = fit.confidence_band(&[across.value(cx)], 0.95).unwrap();
        let off = |end: f64| (cy - up.place(end)).abs();
        assert!(off(band.lower[0]).min(off(band.upper[0])) < 3.0 * NEAR, "{cx} {cy}");
    }
}

/// Each term of a sum is a dashed line at the positions that the fit computes, named by its prefix. The range of the
/// axes includes all terms.
#[test]
fn components_lie_where_the_axes_say() {
    let x: Vec<f64> = (0..120).map(|i| 0.1 * f64::from(i)).collect();
    let bell = |x: f64, c: f64| (-(x - c).powi(2)).exp();
    let y: Vec<f64> = x.iter().map(|&x| 3.0 * bell(x, 4.0) + 40.0 - 39.0 * bell(x, 8.0)).collect();
    let data = Data::new(&x, &y).unwrap();
    let model = models::parse("gaussian(a_) - gaussian(b_) + constant(bg_)").unwrap();
    let fit =
        CurveFit::from(model).fit(data.clone(), [5.0, 4.0, 0.7, 70.0, 8.0, 0.7, 40.0]).unwrap();
    let plot = FitPlot::new(&fit, &data).components(true);
    let svg = plot.to_svg().unwrap();
    let dashed: Vec<&str> = svg.lines().filter(|line| line.contains("stroke-dasharray")).collect();
    assert_eq!(dashed.len(), 3 + 3, "lines and their samples");
    let picture = Picture::of(&svg);
    for name in ["a", "b", "bg"] {
        assert!(picture.texts.iter().any(|text| text.text == name), "{name}");
    }
    let plain = plot.clone().legend(false).to_svg().unwrap();
    let picture = Picture::of(&plain);
    let (across, up) = (picture.across(false), picture.up(false));
    for (i, pen) in ["#0072B2 13", "#009E73 13", "#CC79A7 13"].into_iter().enumerate() {
        let line = picture.line(pen);
        assert!(line.len() > 1, "{pen}");
        for (cx, cy) in line {
            let value = |cx: f64| fit.components(&[across.value(cx)]).unwrap()[i].values[0];
            let slack = (up.place(value(cx + 2.0)) - up.place(value(cx - 2.0))).abs();
            assert!((cy - up.place(value(cx))).abs() < NEAR + slack, "{pen}: {cx} {cy}");
        }
    }
    // With a band, each term has its own band behind all lines, in a lighter shade of its colour.
    let bands = plot.clone().band(0.95).to_svg().unwrap();
    for pale in ["#CCE3F0", "#CCECE3", "#F5E5EE"] {
        assert_eq!((svg.matches(pale).count(), bands.matches(pale).count()), (0, 1), "{pale}");
    }
    // The second term has values down to −39, below all points.
    let deepest = picture.line("#009E73 13").into_iter().map(|(_, cy)| up.value(cy));
    assert!(deepest.fold(0.0, f64::min) < -38.9);

    // Tails of a peak do not extend a logarithmic axis, and a single term has no components.
    let [tails, none] = [true, false].map(|on| plot.clone().components(on).log_y(true));
    let axis = |plot: FitPlot<'_>| Picture::of(&plot.legend(false).to_svg().unwrap()).up(true);
    assert!((axis(tails).place(1.0) - axis(none).place(1.0)).abs() < NEAR);
    let (x, y) = points(60);
    let data = Data::new(&x, &y).unwrap();
    let fit = self::fit(&data);
    let of = |on: bool| FitPlot::new(&fit, &data).components(on).to_svg().unwrap();
    assert_eq!(of(true), of(false));
}

/// A histogram has empty bins, which belong to the fit and cannot be shown on a logarithmic axis.
#[test]
fn counts_of_zero_do_not_refuse_a_logarithmic_picture() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let y = [40.0, 26.0, 17.0, 12.0, 6.0, 6.0, 3.0, 0.0, 2.0, 0.0, 1.0, 0.0];
    let data = Data::new(&x, &y).unwrap();
    let decay = CurveFit::new(|x, [a, k]| a * (-k * x).exp()).estimator(Estimator::Poisson);
    let fit = decay.fit(&data, [40.0, 0.4]).unwrap();
    let picture = Picture::of(&FitPlot::new(&fit, &data).log_y(true).to_svg().unwrap());
    assert!(picture.texts.iter().any(|text| text.text == "data (3 zeros not shown)"));
    let linear = Picture::of(&FitPlot::new(&fit, &data).to_svg().unwrap());
    assert!(linear.texts.iter().any(|text| text.text == "data"));
    // In a least-squares fit, a zero is an ordinary value and can be a mistake.
    let squares = decay.estimator(Estimator::LeastSquares).fit(&data, [40.0, 0.4]).unwrap();
    let refused = FitPlot::new(&squares, &data).log_y(true).to_svg().unwrap_err();
    assert!(matches!(refused, PlotError::NotPositive { axis: "y", index: 7, .. }));
}

/// Residuals are y − model, like [`Fit::residuals`]: positive if the point is above the curve.
#[test]
fn residuals_are_drawn_with_their_sign() {
    let (x, mut y) = points(30);
    y[7] += 0.5;
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let svg = FitPlot::new(&fit, &data).legend(false).residuals(true).to_svg().unwrap();
    let picture = Picture::of(&svg);
    let residuals = fit.residuals(&data).unwrap();
    assert!(residuals[7] > 0.3, "{residuals:?}");
    // The line at zero is thin and has the colour of the curve.
    let zero = picture.line("#D55E00 9").last().unwrap().1;
    let panel = &picture.discs[30..];
    let unit = (zero - panel[7].1) / residuals[7];
    for (residual, (_, cy)) in residuals.iter().zip(panel) {
        assert!((zero - cy - unit * residual).abs() < NEAR, "{residual} {cy}");
    }
    assert!(unit > 0.0);
}

/// For any names of columns the picture is valid XML and shows no additional lines.
#[test]
fn names_do_not_break_the_picture() {
    let (x, y) = points(30);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    for (name, shown) in [
        ("a\u{1}b", "a\\u{1}b"),
        ("two\nlines", "two\\nlines"),
        ("\u{202e}drawkcab", "\\u{202e}drawkcab"),
        ("\u{ffff}\u{85}\u{0}", "\\u{ffff}\\u{85}\\u{0}"),
        ("<&>\"']]>", "<&>\"']]>"),
        ("T₂ / µs", "T₂ / µs"),
    ] {
        let plot = FitPlot::new(&fit, &data).x_label(name).y_label(name).title(name);
        let svg = plot.component(name, &x, &y).to_svg().unwrap();
        let picture = Picture::of(&svg);
        let shown = picture.texts.iter().filter(|text| text.text == shown).count();
        assert_eq!(shown, 4, "{name:?}: {:?}", picture.texts);
        let map = MapPlot::new([1.0, 2.0, 3.0, 4.0], 2).unwrap().label(name).title(name);
        Picture::of(&map.to_svg().unwrap());
    }
}

#[test]
fn many_points_make_a_small_file() {
    let (x, y) = points(200_000);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let svg = FitPlot::new(&fit, &data).band(0.95).residuals(true).to_svg().unwrap();
    let _ = well_formed(&svg);
    assert!(svg.len() < 300_000, "{} bytes", svg.len());
}

#[test]
fn any_range_can_be_drawn() {
    let shapes: [(f64, f64, f64, f64); 6] = [
        (1e-9, 0.0, 1e9, 0.0),
        (1.0, 1e9, 1e-9, 5.0),
        (1e-200, 0.0, 1e200, 0.0),
        (1e150, 0.0, 1.0, -3.0),
        (1.0, 0.0, 0.0, 2.0),
        (1.0, -1e6, 1e-300, 0.0),
    ];
    for (x_unit, x_zero, y_unit, y_zero) in shapes {
        let (x, y) = points(40);
        let x: Vec<f64> = x.iter().map(|x| x_zero + x_unit * x).collect();
        let y: Vec<f64> = y.iter().map(|y| y_zero + y_unit * y).collect();
        let data = Data::new(&x, &y).unwrap();
        let level = CurveFit::parse("c + 0*x", ["x"]).unwrap().fit(data.clone(), [y[0]]).unwrap();
        let plot = FitPlot::new(&level, &data).band(0.9).residuals(true).legend(false);
        drawn_as_given(&plot.to_svg().unwrap(), &level, &x, &y, (false, false));
    }
    let (x, y) = points(40);
    let x: Vec<f64> = x.iter().map(|x| x + 1e-6).collect();
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    for (log_x, log_y) in [(true, false), (false, true), (true, true)] {
        let plot = FitPlot::new(&fit, &data).log_x(log_x).log_y(log_y).band(0.95).residuals(true);
        let svg = plot.legend(false).to_svg().unwrap();
        drawn_as_given(&svg, &fit, &x, &y, (log_x, log_y));
    }
}

#[test]
fn files_hold_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let (x, y) = points(60);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let plot = FitPlot::new(&fit, &data).band(0.95).size(320, 240).y_label("voltage / V m⁻¹");
    plot.save(path("fit.png")).unwrap();
    plot.save(path("fit.SVG")).unwrap();
    assert_eq!(std::fs::read_to_string(path("fit.SVG")).unwrap(), plot.to_svg().unwrap());
    let picture = image::open(path("fit.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (640, 480));
    let near = |wanted: [u8; 3]| {
        let close = |p: &image::Rgb<u8>| p.0.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < 12);
        picture.pixels().filter(|p| close(p)).count()
    };
    assert!(near([255; 3]) > 200_000 && near([213, 94, 0]) > 800 && near([247, 211, 184]) > 200);
    // There is text at the left edge and below the frame, independent of the fonts of the machine.
    let dark = |x: std::ops::Range<u32>, y: std::ops::Range<u32>| {
        x.flat_map(|x| y.clone().map(move |y| (x, y)))
            .filter(|&(x, y)| picture.get_pixel(x, y).0[0] < 140)
            .count()
    };
    assert!(dark(10..50, 100..400) > 200, "{}", dark(10..50, 100..400));
    assert!(dark(300..400, 440..478) > 20, "{}", dark(300..400, 440..478));
}

#[test]
fn a_few_wild_numbers_do_not_make_a_map_one_colour() {
    let plane = |i: u32| f64::from(i % 40) + 0.1 * f64::from(i / 40);
    let mut values: Vec<f64> = (0..1600).map(plane).collect();
    let shown =
        |values: &[f64]| MapPlot::new(values.iter().copied(), 40).unwrap().to_svg().unwrap();
    let tame = shown(&values);
    assert!(!tame.contains("beyond"));
    (values[7], values[900], values[1234]) = (1e6, -1e4, 3e5);
    let wild = shown(&values);
    assert!(wild.contains(" beyond"));
    // Most cells keep their colours.
    let cells = |svg: &str| well_formed(svg)("polygon");
    assert!(cells(&wild) > cells(&tame) * 9 / 10);
    // Ten percent of the numbers are not outliers and are shown. The same holds for a map with only two values.
    let many: Vec<f64> = (0..1600).map(|i| if i % 10 == 0 { 1e6 } else { plane(i) }).collect();
    assert!(!shown(&many).contains("beyond"));
    let two: Vec<f64> = (0..1600).map(|i| f64::from(i == 77)).collect();
    assert!(!shown(&two).contains("beyond"));
}

#[test]
fn maps_show_every_cell_and_grey_where_there_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut values: Vec<f64> = (0..12).map(f64::from).collect();
    values[5] = f64::NAN;
    let map = MapPlot::new(values, 4).unwrap().label("T₂ / ms").title("gel");
    let svg = map.to_svg().unwrap();
    let count = well_formed(&svg);
    assert_eq!(count("polygon"), 12 + 128);
    assert_eq!(svg.matches("#BEBEBE").count(), 1);
    assert!(svg.contains("#440154") && svg.contains("#FDE725"), "the ends of viridis");
    map.save(folder.path().join("map.png")).unwrap();
    let large = MapPlot::new((0..4_000_000).map(|i| f64::from(i % 2000)), 2000).unwrap();
    assert!(large.range(0.0, 2000.0).to_svg().unwrap().len() < 8_000_000);
    let nothing = [
        MapPlot::new([f64::NAN; 4], 2).unwrap().to_svg().unwrap_err(),
        MapPlot::new([1.0; 5], 2).unwrap_err(),
        MapPlot::new([], 0).unwrap_err(),
    ];
    assert!(nothing.iter().all(|error| matches!(error, PlotError::Nothing { .. })));
    let _ = well_formed(&MapPlot::new([3.0; 4], 2).unwrap().to_svg().unwrap());
}

#[test]
fn contours_and_profiles_have_their_lines() {
    let ring = |r: f64| {
        (0..=100).map(move |i| {
            let t = TAU * f64::from(i) / 100.0;
            (2.0 + r * t.cos(), 1e-9 * (3.0 + r * t.sin()))
        })
    };
    let plot =
        ContourPlot::new(["a", "b"]).line(0.68, ring(1.0)).line(0.95, ring(2.0)).best(2.0, 3e-9);
    let svg = plot.clone().intervals((1.0, 3.0), (2e-9, 4e-9)).to_svg().unwrap();
    let _ = well_formed(&svg);
    // A line and an entry for each level.
    assert_eq!([svg.matches("#0072B2").count(), svg.matches("#56B4E9").count()], [2, 2]);
    assert_eq!(svg.matches("#C8C8C8").count(), 4, "intervals");
    assert!(svg.contains("×10⁻⁹"));
    let empty = ContourPlot::new(["a", "b"]).line(0.5, [(f64::NAN, 1.0)]).to_svg();
    assert!(matches!(empty, Err(PlotError::Nothing { .. })));

    let (x, y) = points(40);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let options = ContourOptions::default().points([15, 15]);
    let contour = decay().contour(&fit, data.clone(), ["a", "b"], &options).unwrap();
    let drawn = ContourPlot::of(&contour).to_svg().unwrap();
    let _ = well_formed(&drawn);
    let mut by_hand = ContourPlot::new(["a", "b"]).best(fit.params()[0], fit.params()[1]);
    for (level, points) in
        [(0.6827, &contour.lines[0].paths[0]), (0.95, &contour.lines[1].paths[0])]
    {
        by_hand = by_hand.line(level, points.iter().copied());
    }
    assert_eq!(drawn, by_hand.to_svg().unwrap());
    assert!(drawn.contains("68.27 %") && drawn.contains("95 %"));

    let profile = decay().profile(&fit, data, "b").unwrap();
    let svg =
        ProfilePlot::of(&profile).parabola(fit.params()[1], fit.std_errors()[1]).to_svg().unwrap();
    let count = well_formed(&svg);
    assert_eq!(count("circle"), profile.values().len());
    assert!(svg.contains("τ²"));
    assert!(matches!(ProfilePlot::new("b", []).to_svg(), Err(PlotError::Nothing { .. })));
}

#[test]
fn what_cannot_be_drawn_is_said() {
    let (x, y) = points(40);
    let data = Data::new(&x, &y).unwrap();
    let fit = fit(&data);
    let plot = || FitPlot::new(&fit, &data);
    let refused = |result: Result<(), PlotError>| match result {
        Err(error) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(plot().save("fit.gif")), PlotError::Extension { path: "fit.gif".into() });
    assert_eq!(refused(plot().save("fit")), PlotError::Extension { path: "fit".into() });
    let folder = tempfile::tempdir().unwrap();
    for name in ["none/fit.svg", "none/fit.png"] {
        let path = folder.path().join(name);
        let error = refused(plot().save(&path));
        assert!(matches!(&error, PlotError::NotWritten { path: at, .. } if *at == path), "{error}");
    }
    assert_eq!(
        refused(plot().log_x(true).save("fit.svg")),
        PlotError::NotPositive { axis: "x", index: 0, value: 0.0 }
    );
    assert_eq!(
        refused(plot().size(10, 10).save("fit.svg")),
        PlotError::Size { width: 10, height: 10 }
    );
    let plane = CurveFit::parse("a*x + b*z", ["x", "z"]).unwrap();
    let both = Data::new([&x, &y], &y).unwrap();
    let fit = plane.fit(both.clone(), [1.0, 1.0]).unwrap();
    assert_eq!(
        refused(FitPlot::new(&fit, &both).save("fit.svg")),
        PlotError::Columns { columns: 2 }
    );
    assert!(matches!(
        plot().band(1.5).to_svg(),
        Err(PlotError::Fit(Error::BadOption { name: "level", .. }))
    ));
}
