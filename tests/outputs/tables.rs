//! Tables of parameters, read again by what others wrote to read such text: the csv crate, an XML parser, a parser of
//! GitHub's Markdown.

use dualfit::BatchData;
use dualfit::result::ParameterTable;
use dualfit::{CurveFit, Data, Fit, GlobalFit};

fn points() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let y = x.iter().map(|x| 2.5 * (-1.3 * x).exp() + 0.5 + 0.01 * (40.0 * x).sin()).collect();
    (x, y)
}

/// Names of parameters, which are words.
const WORDS: [&str; 4] = ["a", "b", "c", "d"];
/// Names of derived quantities that mean something to each of the formats.
const NAMES: [&str; 4] = ["a|b", "<i>&amp; \"x\", 'y'</i>", "**c**_d_`e`\\", "[k](u) $x$ #!~"];

/// Free, fixed, at a bound; and a derived quantity of each.
fn fit() -> Fit {
    let (x, y) = points();
    let curve = CurveFit::new(|x, [a, b, c, d]| a * (-b * x).exp() + c + 0.0 * d);
    let curve = curve.names(WORDS).fix("d").bound("c", 0.6..);
    let curve = NAMES.iter().zip(WORDS).fold(curve, |curve, (name, word)| curve.derive(name, word));
    curve.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 1.0, 1e-30]).unwrap()
}

/// The cells of a table of Markdown, as they are shown.
fn cells(markdown: &str) -> Vec<Vec<String>> {
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    let (mut rows, mut tables) = (Vec::<Vec<String>>::new(), 0);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Table(_)) => tables += 1,
            Event::Start(Tag::TableRow | Tag::TableHead) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => rows.last_mut().unwrap().push(String::new()),
            Event::Text(text) => rows.last_mut().unwrap().last_mut().unwrap().push_str(&text),
            Event::End(
                TagEnd::TableCell | TagEnd::TableRow | TagEnd::TableHead | TagEnd::Table,
            ) => {}
            other => panic!("{other:?} in\n{markdown}"),
        }
    }
    assert_eq!(tables, 1);
    rows
}

/// The cells of a table of HTML, as they are shown.
fn elements(html: &str) -> Vec<Vec<String>> {
    let document = roxmltree::Document::parse(html).unwrap();
    let rows = document.descendants().filter(|node| node.has_tag_name("tr"));
    let text = |cell: roxmltree::Node<'_, '_>| {
        assert!(cell.children().all(|child| child.is_text()));
        cell.text().unwrap_or("").to_owned()
    };
    rows.map(|row| row.children().filter(|node| node.is_element()).map(text).collect()).collect()
}

#[test]
fn markdown_and_html_show_the_same_whatever_the_names() {
    let table = fit().table();
    let shown = cells(&table.markdown());
    assert_eq!(shown, elements(&table.html()));
    assert_eq!(shown[0], ["parameter", "value", "std. error", "relative", "start", "note"]);
    let names: Vec<&str> = shown[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, [WORDS, NAMES].concat());
    assert_eq!(shown[3][5], "at lower bound");
    assert_eq!(shown[4][1..], ["1.0000000e-30", "", "", "1.00000e-30", "fixed"]);
    // The error has two digits, and the value ends where it does.
    let decimals = |text: &str| text.split_once('.').unwrap().1.len();
    assert_eq!(decimals(&shown[1][1]), decimals(&shown[1][2]));
    assert_eq!(shown[1][2].trim_start_matches(['0', '.']).len(), 2);
}

#[test]
fn text_is_aligned() {
    let text = fit().table().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9);
    let end = |line: &str, word: &str| {
        let byte = line.find(word).unwrap_or_else(|| panic!("{word} in {line}")) + word.len();
        line[..byte].chars().count()
    };
    let fit = fit();
    let cells = cells(&fit.table().markdown());
    assert_eq!(end(lines[0], "value"), end(lines[1], &cells[1][1]));
    assert_eq!(end(lines[0], "std. error"), end(lines[2], &cells[2][2]));
    assert!(lines.iter().all(|line| !line.ends_with(' ')));
}

mod csv_text {
    use super::*;

    fn records(table: &ParameterTable) -> Vec<Vec<String>> {
        let text = table.csv();
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    #[test]
    fn csv_reads_back_to_the_last_bit() {
        let fit = fit();
        let rows = records(&fit.table());
        assert_eq!(rows.len(), 9);
        assert!(rows[5..].iter().map(|row| row[0].as_str()).eq(NAMES));
        for (i, row) in rows[1..5].iter().enumerate() {
            assert_eq!(row[0], WORDS[i]);
            assert_eq!(row[1].parse::<f64>().unwrap().to_bits(), fit.params()[i].to_bits());
            let (error, expected) = (row[2].parse::<f64>().unwrap(), fit.std_errors()[i]);
            assert!(error.to_bits() == expected.to_bits() || error.is_nan() && expected.is_nan());
            assert_eq!(row[4].parse::<f64>().unwrap(), fit.start()[i]);
        }
        let part: f64 = rows[1][3].parse().unwrap();
        assert_eq!(part, fit.std_errors()[0] / fit.params()[0]);
    }

    #[test]
    fn a_batch_has_a_row_for_each_fit() {
        let (x, y) = points();
        let stack: Vec<f64> = [y.clone(), vec![f64::NAN; 40], y].concat();
        let decay = CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap();
        let batch = decay.fit_batch(BatchData::shared(&x, &stack).unwrap(), [1.0, 1.0, 0.0]);
        let batch = batch.unwrap();
        let rows = records(&batch.table());
        let heads =
            ["fit", "status", "a", "a std. error", "b", "b std. error", "c", "c std. error"];
        assert_eq!(rows[0][..8], heads);
        assert_eq!(rows[0][8..], ["cost", "points"]);
        assert_eq!((rows.len(), rows[2][1].as_str(), rows[2][2].as_str()), (4, "bad data", "NaN"));
        for fit in [0, 2] {
            let value = |column: usize| rows[1 + fit][column].parse::<f64>().unwrap();
            assert_eq!((value(0), value(9)), (fit as f64, 40.0));
            assert_eq!([2, 4, 6].map(value), batch.fit(fit).params());
            assert_eq!([3, 5, 7].map(value), batch.fit(fit).std_errors());
            assert_eq!(value(8), batch.fit(fit).cost());
        }
    }
}

#[test]
fn ties_and_derived_quantities_say_so() {
    let (x, y) = points();
    let curve = CurveFit::parse("a*exp(-b*x) + c", ["x"]).unwrap();
    let curve = curve.tie("c", "a/5").derive("life", "ln(2)/b");
    let fit = curve.fit(Data::new(&x, &y).unwrap(), [1.0, 1.0, 0.2]).unwrap();
    let rows = cells(&fit.table().markdown());
    assert_eq!((rows[3][0].as_str(), rows[3][5].as_str()), ("c", "tied: a/5"));
    assert_eq!((rows[4][0].as_str(), rows[4][5].as_str()), ("life", "derived"));
    assert_eq!(rows[4][4], "");
    let joint = GlobalFit::new(&curve).share(["b"]);
    let joint = joint.fit([(); 2].map(|()| Data::new(&x, &y).unwrap()), [("b", 1.0)]).unwrap();
    assert_eq!(joint.table(), joint.fit().table());
}
