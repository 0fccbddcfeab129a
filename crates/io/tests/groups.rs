//! Groups of a table: fits of the groups in a batch equal separate fits; joint fits.

use dualfit::{CurveFit, Data, FitStatus, GlobalFit, Missing};
use dualfit_io::{CsvOptions, Table, TableError};

fn table(contents: &str) -> Table {
    Table::from_reader("t.csv", contents.as_bytes(), CsvOptions::detected()).unwrap()
}

fn decay() -> CurveFit {
    CurveFit::new(|t, [a, rate]| a * (-rate * t).exp()).names(["a", "rate"])
}

/// Expected group: its label, t and y.
type Known = (&'static str, Vec<f64>, Vec<f64>);

/// Returns a table of three groups of different lengths with interleaved rows, and the expected groups.
fn mixed() -> (String, Vec<Known>) {
    let mut known: Vec<Known> = ["run 7", "a", "ß"].map(|label| (label, vec![], vec![])).to_vec();
    let mut text = String::from("run,t,y\n");
    for i in 0..40_usize {
        let group = (i * i + i / 3) % 3;
        let (t, noise) = (0.1 * i as f64, 0.01 * ((7 * i) % 11) as f64);
        let y = (1.0 + group as f64) * (-0.7 * t).exp() + noise;
        text += &format!("{},{t:?},{y:?}\n", known[group].0);
        known[group].1.push(t);
        known[group].2.push(y);
    }
    (text, known)
}

#[test]
fn groups_are_fitted_as_each_alone() {
    let (text, known) = mixed();
    let groups = table(&text).groups("run").unwrap();
    let mut labels: Vec<&str> =
        text.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let mut seen = std::collections::HashSet::new();
    labels.retain(|label| seen.insert(*label));
    assert_eq!(groups.labels(), labels);
    let set = groups.data("t", "y").unwrap();
    let batch = decay().fit_batch(set.batch().unwrap(), [1.0, 1.0]).unwrap();
    let each = set.each().unwrap();
    for (i, label) in groups.labels().iter().enumerate() {
        let (_, t, y) = known.iter().find(|known| known.0 == label).unwrap();
        let alone = decay().fit(Data::new(t, y).unwrap(), [1.0, 1.0]).unwrap();
        assert_eq!(decay().fit(&each[i], [1.0, 1.0]).unwrap().params(), alone.params());
        for (own, alone) in batch.fit(i).params().iter().zip(alone.params()) {
            assert!((own - alone).abs() <= 1e-12 * alone.abs(), "{label}: {own} {alone}");
        }
        assert_eq!(groups.rows(i).len(), t.len());
    }
    let joint = GlobalFit::new(&decay()).share(["rate"]).fit(each, [1.0; 4]).unwrap();
    let sets = groups.labels().iter().map(|label| {
        let (_, t, y) = known.iter().find(|known| known.0 == label).unwrap();
        Data::new(t, y).unwrap()
    });
    let other =
        GlobalFit::new(&decay()).share(["rate"]).fit(sets.collect::<Vec<_>>(), [1.0; 4]).unwrap();
    assert_eq!(joint.fit().params(), other.fit().params());
}

#[test]
fn one_group_is_the_table() {
    let table = table("id,t,y\nx,0,3\nx,1,2\nx,2,1.3\nx,3,0.9\n");
    let set = table.groups("id").unwrap().data("t", "y").unwrap();
    let whole = table.data("t", "y").unwrap();
    assert_eq!((set.labels(), whole.labels().len()), (&["x".to_owned()][..], 0));
    let fit = decay().fit(whole.data().unwrap(), [1.0, 1.0]).unwrap();
    for set in [&set, &whole] {
        let batch = decay().fit_batch(set.batch().unwrap(), [1.0, 1.0]).unwrap();
        assert_eq!((batch.n_fits(), batch.fit(0).params()), (1, fit.params()));
    }
    assert_eq!(table.groups("id").unwrap().rows(1), &[] as &[usize]);
}

#[test]
fn a_group_that_cannot_be_fitted_harms_no_other() {
    let contents = "id,t,y,s\na,0,3,0.1\nalone,0,1,0.1\ngap,0,3,0.1\na,1,2,0.1\ngap,1,,0.1\na,2,1.3,0.1\ngap,2,1.3,0.1\ngap,3,1,0.2\n";
    let set =
        table(contents).groups("id").unwrap().data("t", "y").unwrap().sigma_column("s").unwrap();
    let batch = decay().fit_batch(set.batch().unwrap(), [1.0, 1.0]).unwrap();
    let statuses = batch.statuses();
    assert!(batch.fit(0).converged());
    assert_eq!(statuses[1], FitStatus::TooFewPoints { points: 1 });
    assert_eq!(statuses[2], FitStatus::BadData { point: 1 });
    let omitting = set.clone().missing(Missing::Omit);
    assert!(decay().fit_batch(omitting.batch().unwrap(), [1.0, 1.0]).unwrap().fit(2).converged());
    // The row of the table with the missing value.
    assert_eq!((set.row(5), set.table().line(4, 2)), (Some(4), Some("t.csv:6:7".into())));
    let mask = vec![true, true, true, true, false, true, true, true];
    let masked = set.mask(mask).unwrap();
    assert!(decay().fit_batch(masked.batch().unwrap(), [1.0, 1.0]).unwrap().fit(2).converged());
}

#[test]
fn rows_of_no_group_are_refused() {
    let error = table("id,t,y\na,0,1\n,1,2\nb,2,3\nNA,3,4\n").groups("id").unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv:3:1: column \"id\" has no value (2 such row(s)), so that the row belongs to no group; write one there, or leave the row out"
    );
    assert!(matches!(error, TableError::NoGroup { count: 2, .. }));
    // A word that means a missing number can be the label of a group.
    let groups = table("id,t,y\nnone,0,1\n-,1,2\n1,2,3\n1.0,3,4\n").groups("id").unwrap();
    assert_eq!(groups.labels(), ["none", "-", "1", "1.0"]);
}
