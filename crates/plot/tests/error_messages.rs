//! Messages of errors: the problem with its numbers, and the remedy.

use dualfit_plot::PlotError;

#[test]
fn messages_contain_the_problem_and_the_remedy() {
    let (path, message) = ("out/file".into(), "no space left".into());
    let expected = [
        (
            PlotError::NotWritten { path, message },
            "the picture out/file cannot be written: no space left; choose a place that can be written to",
        ),
        (
            PlotError::Extension { path: "out/file".into() },
            "the picture out/file is of no known kind; let its name end in .svg or .png",
        ),
        (
            PlotError::Nothing { what: "no point is finite" },
            "there is nothing to draw: no point is finite",
        ),
        (
            PlotError::NotPositive { axis: "x", index: 2, value: 0.0 },
            "x is 0 at index 2, which a logarithmic axis cannot show; mask the point, or draw the axis linearly",
        ),
        (
            PlotError::Columns { columns: 2 },
            "a curve is drawn over one independent variable, but the data have 2; draw a cut through them, or a map",
        ),
        (
            PlotError::Size { width: 10, height: 20 },
            "a picture of 10 × 20 pixels is too small or too large; each side has 160 to 8192",
        ),
    ];
    for (error, message) in expected {
        assert_eq!(error.to_string(), message);
    }
}
