//! Messages of errors: the problem with its numbers, and the remedy.

use dualfit::error::SourceError;
use dualfit_io::TableError;

#[test]
fn messages_contain_the_problem_and_the_remedy() {
    let place = || String::from("a.csv");
    let cell = || String::from("a.csv:7:1");
    let known = vec!["a".into(), "b".into()];
    let expected = [
        (
            SourceError::new("data.csv", "\"abc\" is not a number")
                .at_row(18)
                .in_column("y")
                .into(),
            "cannot read the points: data.csv, row 18, column y: \"abc\" is not a number",
        ),
        (
            TableError::FeatureOff { place: place(), format: "a text table", feature: "csv" },
            "a.csv: a text table is read with the feature `csv` of the crate dualfit-io: write dualfit-io = { version = \"…\", features = [\"csv\"] } in Cargo.toml",
        ),
        (
            TableError::UnknownColumn { place: place(), name: "aa".into(), known },
            "a.csv: there is no column \"aa\" (did you mean \"a\"?); the columns are a, b",
        ),
        (
            TableError::ColumnNumber { place: place(), number: 2, count: 2 },
            "a.csv: there is no column 2, only 2 numbered from 0",
        ),
        (
            TableError::SameName { place: place(), name: "a".into(), first: 0, second: 3 },
            "a.csv: columns 0 and 3, counted from 0, are both called \"a\"; choose by number",
        ),
        (
            TableError::Time {
                place: cell(),
                column: "when".into(),
                text: "01/02/2026".into(),
                fault: "does not say which number is the day",
            },
            "a.csv:7:1: \"01/02/2026\" in column \"when\" does not say which number is the day",
        ),
        (
            TableError::NoGroup { place: cell(), column: "id".into(), count: 2 },
            "a.csv:7:1: column \"id\" has no value (2 such row(s)), so that the row belongs to no group; write one there, or leave the row out",
        ),
    ];
    for (error, message) in expected {
        assert_eq!(error.to_string(), message);
    }
}
