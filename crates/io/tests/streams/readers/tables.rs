//! Tables: a table of words, numbers and times in every format, written by Python, and tables that cannot be read.

use crate::readers::damage::{Folder, recorded};
use dualfit::{Bootstrap, CurveFit, Data, Error, GlobalFit, Missing, MultiStart, Sigma};
use dualfit_io::{CsvOptions, DateOrder, Table, TableError};

fn read(name: &str) -> Table {
    Table::read(recorded(name)).unwrap()
}

pub(crate) fn text(contents: &str) -> Table {
    Table::from_reader("t.csv", contents.as_bytes(), CsvOptions::detected()).unwrap()
}

/// Returns the error of a text table when it is opened or when its first two columns are read.
#[track_caller]
fn never(contents: &str) -> TableError {
    let table = Table::from_reader("t.csv", contents.as_bytes(), CsvOptions::detected());
    table.and_then(|table| table.columns([0, 1])).unwrap_err()
}

fn bits(columns: &[Vec<f64>]) -> Vec<Vec<u64>> {
    columns.iter().map(|column| column.iter().map(|v| v.to_bits()).collect()).collect()
}

/// Returns the error when columns of a text table are read.
#[track_caller]
fn refused(contents: &str, columns: &[&str]) -> TableError {
    text(contents).columns(columns).unwrap_err()
}

fn formats() -> Vec<&'static str> {
    let others = ["times.parquet", "times.arrow"];
    let built = [cfg!(feature = "parquet"), cfg!(feature = "arrow")];
    let others = others.into_iter().zip(built).filter(|(_, built)| *built).map(|(name, _)| name);
    ["times.csv", "times.tsv"].into_iter().chain(others).collect()
}

/// Compares seconds with Python's datetime: over a leap day, over both changes of daylight saving time in Berlin, and
/// before 1970.
#[test]
fn times_are_the_seconds_that_python_counts() {
    let names = ["at", "local", "day", "clock"];
    let expected = bits(&read("times.expected.csv").columns(names).unwrap());
    for format in formats() {
        let table = read(format);
        assert_eq!(bits(&table.columns(names).unwrap()), expected, "{format}");
        let origins = names.map(|name| table.origin(name).unwrap().unwrap().to_string());
        let first = ["2028-02-28T22:59:59.5Z", "2028-02-28T23:59:59.5", "2028-02-28", "00:00:01"];
        assert_eq!(origins, first, "{format}");
        assert_eq!(table.origin("t").unwrap(), None);
        let at = table.origin("at").unwrap().unwrap();
        assert!(at.is_universal() && !table.origin("local").unwrap().unwrap().is_universal());
        // python -c "from datetime import *; print(datetime(2028,2,28,22,59,59,500000,timezone.utc).timestamp())"
        assert_eq!(at.seconds(), 1835391599.5);
    }
}

#[test]
fn every_format_has_the_same_numbers_and_words() {
    let (numbers, first) = (["t", "y", "n"], read("times.csv"));
    for format in formats() {
        let table = read(format);
        assert_eq!(table.names(), first.names());
        let columns = table.columns(numbers).unwrap();
        assert_eq!(bits(&columns), bits(&first.columns(numbers).unwrap()), "{format}");
        assert!(columns[1][1].is_nan());
        assert_eq!(table.words("id").unwrap(), ["b", "a", "b", "ä", "a", "a", "b", "ä"]);
        assert_eq!(table.words("n").unwrap(), ["7", "7", "-1", "7", "7", "-1", "7", "7"]);
        assert_eq!(table.groups("n").unwrap().labels(), ["7", "-1"]);
    }
    // The array that tests/record/npy_files.py wrote, and the same numbers in a text.
    let array = read("table_f8.npy");
    assert!(!array.has_names());
    let columns = array.columns([0, 1]).unwrap();
    let lines = columns[0].iter().zip(&columns[1]).map(|(a, b)| format!("{a:?};{b:?}\n"));
    assert_eq!(bits(&text(&lines.collect::<String>()).columns([0, 1]).unwrap()), bits(&columns));
}

#[test]
fn times_are_written_in_many_ways_of_one_standard() {
    let seconds = |column: &str| {
        let rows = column.split('|').enumerate().map(|(i, time)| format!("{i};{time}\n"));
        text(&format!("n;when\n{}", rows.collect::<String>())).columns("when").unwrap().remove(0)
    };
    assert_eq!(seconds("2026-01-31 23:00|2026-02-01 00:00"), [0.0, 3600.0]);
    assert_eq!(seconds("2026/01/31|2026/02/02"), [0.0, 172_800.0]);
    assert_eq!(seconds("2026-01-31T23:00Z|2026-02-01T01:30+0130"), [0.0, 3600.0]);
    assert_eq!(seconds("2026-01-31T23:00:00.000000001Z|2026-01-31T23:00:00Z"), [0.0, -1e-9]);
    assert_eq!(
        seconds("2026-03-29T01:59:59+01:00[Europe/Berlin]|2026-03-29T03:00:00+02:00"),
        [0.0, 1.0]
    );
    let missing = seconds("NA|2026-01-31|-|2026-02-01");
    assert!(missing[0].is_nan() && missing[2].is_nan());
    assert_eq!([missing[1], missing[3]], [0.0, 86400.0]);
}

#[test]
fn dates_in_another_order_are_read_where_it_is_said_or_a_month_is_named() {
    let columns = |column: &str, order: Option<DateOrder>| {
        let rows = column.split('|').map(|time| format!("{time};1\n"));
        let text = format!("when;v\n{}", rows.collect::<String>());
        let table =
            Table::from_reader("t.csv", text.as_bytes(), CsvOptions::detected().date_order(order));
        table.and_then(|table| table.columns("when"))
    };
    let day = 86400.0;
    for (column, order) in [
        ("31.01.2026|01.02.2026|03.02.2026", Some(DateOrder::DayFirst)),
        ("31/1/2026|1/2/2026|3/2/2026", Some(DateOrder::DayFirst)),
        ("01/31/2026|02/01/2026|02/03/2026", Some(DateOrder::MonthFirst)),
        ("31-Jan-2026|01-Feb-2026|3-february-2026", None),
        ("Jan-31-2026|Feb-1-2026|Feb-03-2026", Some(DateOrder::DayFirst)),
        ("2026-Jan-31|2026.02.01|2026-2-3", Some(DateOrder::MonthFirst)),
    ] {
        assert_eq!(columns(column, order).unwrap(), [[0.0, day, 3.0 * day]], "{column}");
    }
    for column in
        ["31.01.2026 23:30|01.02.2026 00:00:00.5", "31-OCT-2026T23:30|01-nov-2026T00:00:00,5"]
    {
        assert_eq!(
            columns(column, Some(DateOrder::DayFirst)).unwrap(),
            [[0.0, 1800.5]],
            "{column}"
        );
    }
    for (column, order) in [
        ("01/13/2026", DateOrder::DayFirst),
        ("13/01/2026", DateOrder::MonthFirst),
        ("1/2/26", DateOrder::DayFirst),
        ("29.02.2026", DateOrder::DayFirst),
    ] {
        let said = columns(column, Some(order)).unwrap_err().to_string();
        assert!(
            said.contains("t.csv:2:1") && said.contains("order that `date_order` says"),
            "{said}"
        );
    }
}

#[test]
fn times_that_can_be_two_are_refused_with_what_to_write() {
    let said = |column: &str| {
        let rows = column.split('|').map(|time| format!("1;{time}\n"));
        let error = refused(&format!("n;when\n{}", rows.collect::<String>()), &["when"]);
        assert!(matches!(error, TableError::Time { .. }), "{error:?}");
        error.to_string()
    };
    assert_eq!(
        said("01/02/2026|02/02/2026"),
        "t.csv:2:3: \"01/02/2026\" in column \"when\" does not say which number is the day and which the month; say `date_order`, or write 2026-02-01 for the first of February"
    );
    for ambiguous in ["13.02.2026", "1-2-26", "01/02/2026 18:30"] {
        assert!(said(ambiguous).contains("which number is the day"), "{ambiguous}");
    }
    for none in [
        "2026-02-30",
        "18:30 PM",
        "2026-02-01T25:00",
        "18:30:00+01:00",
        "2026-02-01T18:30[Europe/Berlin]",
    ] {
        assert!(said(none).contains("no date or time of ISO 8601"), "{none}");
    }
    for mixed in
        ["2026-02-01|18:30", "2026-02-01|2026-02-01T18:30", "2026-02-01T18:30|2026-02-01T18:30Z"]
    {
        let said = said(mixed);
        assert!(said.starts_with("t.csv:3:3: ") && said.contains("another kind"), "{said}");
    }
    assert!(said("23:59:59|00:00:01").contains("write the dates, too"));
    assert!(said("2026-02-01|soon").contains("\"soon\" in column \"when\" is no date"));
}

#[test]
fn words_asked_as_numbers_are_refused_with_their_place() {
    for format in formats() {
        let error = read(format).data("t", "id").unwrap_err();
        let TableError::Source(error) = error else { panic!("{error:?}") };
        assert!(error.message.contains(" holds words, as \"b\"; "), "{error}");
    }
    let error = refused("n,v\n1,2\n2,three\n", &["v"]).to_string();
    assert!(error.contains("t.csv:3:3: \"three\" in column \"v\" is no number"), "{error}");
}

/// An unclosed quote would include the rows below it.
#[test]
fn quotes_that_are_not_closed_are_told() {
    let message = |contents: &str| never(contents).to_string();
    let lost = "x,y,remark\n0,1,ok\n1,3,\"5 inch\n2,5,ok\n3,7,ok\n4,9,ok\n";
    assert!(
        message(lost).contains("t.csv:3:5: a quote opens here and is not closed"),
        "{}",
        message(lost)
    );
    for behind in ["x,y\n0,1\n1,\"3\"5\n2,5\n", "x,y,z\n1,3,\"ok\n2,50,ok\n3,70,\"ok\"\n4,9,ok\n"] {
        let said = message(behind);
        assert!(said.contains("a quote opens here, and text stands behind"), "{said}");
    }
    // Closed quotes, doubled quotes, quotes within a field or in a comment.
    let right =
        "# 5 \"inch\nx,y,z\n0,1,\"a, \"\"b\"\"\nc\"\n1,\"3\" ,5\"\r\n\n2,5,\"\"\n3,7,\"ok\"";
    assert_eq!(
        text(right).columns(["x", "y"]).unwrap(),
        [[0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0]]
    );
    // In a text longer than one read, and in its last row.
    let many = |last: &str| "x,y,z\n".to_owned() + &"1,2,\"three\"\n".repeat(100_000) + last;
    assert_eq!(text(&many("")).columns([0]).unwrap()[0].len(), 100_000);
    assert!(message(&many("1,2,\"three\n")).contains("t.csv:100002:5: a quote opens"));
}

#[test]
fn commas_and_points_of_two_meanings_are_asked_about() {
    let said = |contents: &str| never(contents).to_string();
    let row = said("a,b,\n6,9,0,\n5,7,0,\n2,3,1,\n");
    assert!(row.contains("t.csv:2: the row has 4 fields where line 1 has 3"), "{row}");
    let thousands = said("x;y\n1;999\n2;1.000\n3;1.001\n4;12.500\n");
    assert!(
        thousands.contains("\"1.000\" may have a decimal point or set thousands apart"),
        "{thousands}"
    );
    let both = said("4.104.454,9125,22,63\n5.104.454,9125,23,63\n6.104.454,9125,24,63\n");
    assert!(both.contains("commas separate fields here"), "{both}");
    let fine = "a,b,\n6,9,\n5,7,\n";
    assert_eq!(text(fine).columns([0, 1]).unwrap(), [[6.0, 5.0], [9.0, 7.0]]);
}

#[test]
fn columns_that_are_not_there_are_named() {
    let table = text("Time (s),volt,volt\n1,2,3\n");
    assert_eq!(table.find("time").unwrap(), 0);
    assert_eq!(table.find("Time").unwrap(), 0);
    let said = |error: TableError| error.to_string();
    assert_eq!(
        said(table.data("tim", 1).unwrap_err()),
        "t.csv: there is no column \"tim\" (did you mean \"Time\"?); the columns are Time (s), volt, volt"
    );
    assert_eq!(
        said(table.data(0, "volt").unwrap_err()),
        "t.csv: columns 1 and 2, counted from 0, are both called \"volt\"; choose by number"
    );
    assert_eq!(
        said(table.data([0, 3], 1).unwrap_err()),
        "t.csv: there is no column 3, only 3 numbered from 0"
    );
    let none = Table::read("none.csv").unwrap_err().to_string();
    assert!(none.contains("none.csv: there is no such file"), "{none}");
    let empty = text("t,v\n").data("t", "v").unwrap_err().to_string();
    assert!(empty.contains("no numbers below it"), "{empty}");
}

#[test]
fn a_set_is_the_data_that_its_columns_are() {
    let contents = "sx;s;x;y;z\n0,1;0,1;0;1,1;3\n0,1;0,2;1;3,2;1\n0,2;0,1;2;4,9;4\n0,1;0,1;3;;1\n0,1;0,3;4;9,1;5\n";
    let table = text(contents);
    let set = table.data("x", "y").unwrap().missing(Missing::Omit);
    let [x, y, s, sx] = ["x", "y", "s", "sx"].map(|name| table.columns(name).unwrap().remove(0));
    let line = CurveFit::new(|x, [a, b]| a + b * x);
    let same = |set: &dualfit_io::DataSet, data: Data<'_>| {
        let data = data.missing(Missing::Omit);
        let (own, lent) = (
            line.fit(set.data().unwrap(), [0.0, 1.0]).unwrap(),
            line.fit(data, [0.0, 1.0]).unwrap(),
        );
        assert_eq!(own.params(), lent.params());
        assert_eq!(own.covariance(), lent.covariance());
    };
    let data = || Data::new(&x, &y).unwrap();
    same(&set, data());
    same(&set.clone().sigma(0.5).unwrap(), data().sigma(Sigma::Constant(0.5)).unwrap());
    let absolute = data().sigma(Sigma::Absolute(&s)).unwrap();
    same(&set.clone().sigma_column("s").unwrap(), absolute.clone());
    same(
        &set.clone().relative_sigma_column(1).unwrap(),
        data().sigma(Sigma::Relative(&s)).unwrap(),
    );
    let both = set.clone().sigma_column("s").unwrap().x_sigma_column("sx").unwrap();
    same(&both, absolute.x_sigma(&sx).unwrap());
    let mask = vec![true, true, false, true, true];
    same(&set.clone().mask(mask.clone()).unwrap(), data().mask(&mask).unwrap());
    assert!(matches!(
        set.clone().mask(vec![true]),
        Err(TableError::Data(Error::LengthMismatch { .. }))
    ));
    assert!(matches!(set.clone().sigma(-1.0), Err(TableError::Data(Error::BadOption { .. }))));
    assert!(matches!(
        set.x_sigma_column(["sx", "s"]),
        Err(TableError::Data(Error::LengthMismatch { .. }))
    ));
    let plane = CurveFit::multivariate(|[x, z], [a, b, c]| a + b * x + c * z);
    let set = table.data(["x", "z"], "y").unwrap().missing(Missing::Omit);
    assert!(plane.fit(set.data().unwrap(), [0.0; 3]).unwrap().converged());
}

/// Profiles, searches and diagnostics are the same for the data of a table and for the same numbers in arrays.
#[test]
fn data_of_a_table_are_those_of_its_numbers() {
    let rows: String =
        (0..40).map(|i| format!("{},{}\n", f64::from(i) / 10.0, (1 + i * i) % 7)).collect();
    let set = text(&format!("t,v\n{rows}")).data("t", "v").unwrap();
    let (x, y) = (set.x()[0].clone(), set.y().to_vec());
    let data = &Data::new(&x, &y).unwrap();
    let set = &set.data().unwrap();
    let line = CurveFit::new(|x, [a, b]| a + b * x).bounds([(-20.0, 20.0); 2]);
    let fit = line.fit(set, [0.0, 1.0]).unwrap();
    let ends = |profile: dualfit::Profile| profile.interval(0.95).unwrap();
    let [of_set, of_data] = [line.profile(&fit, set, "p1"), line.profile(&fit, data, "p1")];
    assert_eq!(ends(of_set.unwrap()), ends(of_data.unwrap()));
    let starts = MultiStart::new(4);
    assert_eq!(
        line.multi_start(set, [0.0, 1.0], &starts).unwrap().best().params(),
        line.multi_start(data, [0.0, 1.0], &starts).unwrap().best().params()
    );
    let how = Bootstrap::new(20);
    assert_eq!(
        line.bootstrap(&fit, set, &how).unwrap().std_errors(),
        line.bootstrap(&fit, data, &how).unwrap().std_errors()
    );
    assert_eq!(fit.residuals(set).unwrap(), fit.residuals(data).unwrap());
    let leverage = |of: dualfit::result::Diagnostics| of.leverage;
    assert_eq!(leverage(fit.diagnostics(set).unwrap()), leverage(fit.diagnostics(data).unwrap()));
    let both = GlobalFit::new(&line).share(["p1"]);
    let [sets, datas] =
        [both.fit([set, set], [("p1", 1.0)]), both.fit([data, data], [("p1", 1.0)])];
    assert_eq!(sets.unwrap().fit().params(), datas.unwrap().fit().params());
}

/// Reads two of a million columns, and all of a million rows.
#[test]
fn wide_and_long_tables_are_no_burden() {
    let wide: String = (0..3)
        .map(|row| {
            let mut line: String = (0..1_000_000).map(|i| format!("{},", (row + i) % 10)).collect();
            line.pop();
            line + "\n"
        })
        .collect();
    let columns = text(&wide).columns([999_999, 0]).unwrap();
    assert_eq!(columns, [[9.0, 0.0, 1.0], [0.0, 1.0, 2.0]]);
    let folder = Folder::new();
    let long: String = (0..1_000_000).map(|i| format!("{},{},{i}.5\n", i % 7, i % 1000)).collect();
    let path = folder.write("long.csv", format!("id,t,y\n{long}"));
    let set = Table::read(path).unwrap().groups("id").unwrap().data("t", "y").unwrap();
    assert_eq!((set.len(), set.labels().len()), (1_000_000, 7));
    assert_eq!(set.y()[1], 7.5);
}

#[test]
fn messy_texts_are_the_tables_that_they_are() {
    let plain = bits(&text("t,v\n0,1.5\n1,2.5\n2,4\n").columns(["t", "v"]).unwrap());
    let messy: [(&[u8], [&str; 2]); 5] = [
        (b"t;v\n0;1,5\n1;2,5\n2;4,0\n", ["t", "v"]),
        (b"\xef\xbb\xbft,v\r\n0,1.5\r\n1,2.5\r\n2,4\r\n", ["t", "v"]),
        (b"t [s];T [\xb0C]\n0;1.5\n1;2.5\n2;4\n", ["t", "T"]),
        (b"Instrument: X\nOperator, J. Doe, room 4\n\nt,v\ns,mV\n0,1.5\n1,2.5\n2,4\n", ["t", "v"]),
        (b"sep=;\nt;v\n0;1.5\n1;2.5\n2;4\n", ["t", "v"]),
    ];
    for (bytes, names) in messy {
        let table = Table::from_reader("t", bytes, CsvOptions::detected()).unwrap();
        assert_eq!(
            bits(&table.columns(names).unwrap()),
            plain,
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
    let dated = "Run of 2026-01-02\nwhen;v\n2026-01-02 12:00:00;1,5\n2026-01-02 12:00:01;2,5\n2026-01-02 12:00:02;4,0\n";
    assert_eq!(bits(&text(dated).columns(["when", "v"]).unwrap()), plain);
}

/// The file is read again for each column, and must not have changed since it was opened.
#[test]
fn a_file_that_changed_is_refused() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "t,v\n1,2\n2,3\n");
    let table = Table::read(&path).unwrap();
    folder.write("t.csv", "t,v\n1,2\n2,3\n3,4\n");
    let error = table.columns("t").unwrap_err();
    assert!(matches!(error, TableError::Changed(_)), "{error:?}");
}
