//! The models that lmfit has, too, against its values: recorded by tests/record/lmfit_models.py.

use dualfit::models;

const RECORDED: &str = include_str!("../../data/models/lmfit.txt");

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn values_are_those_of_lmfit() {
    let (mut seen, mut worst) = (0, 0.0_f64);
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let [name, params, columns, values] = line.split('|').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let model = models::parse(name).unwrap();
        let said: Vec<(&str, f64)> = params
            .split_whitespace()
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name, value.parse().unwrap()))
            .collect();
        let of = |name: &String| said.iter().find(|(said, _)| said == name).unwrap().1;
        let params: Vec<f64> = model.parameters().iter().map(of).collect();
        assert_eq!(params.len(), said.len(), "{name}");
        let columns: Vec<Vec<f64>> = columns.split(';').map(numbers).collect();
        let values = numbers(values);
        assert_eq!(values.len(), 15, "{name}");
        let program = model.curve().unwrap().program().unwrap();
        for (i, value) in values.iter().enumerate() {
            let x: Vec<f64> = columns.iter().map(|column| column[i]).collect();
            let found = program.evaluate(&x, &params);
            let size = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
            // Far out lmfit's 1 + erf has the rounding of 1.
            let off = (found - value).abs() / (value.abs() + 1e-4 * size);
            assert!(off < 1e-12, "{name} at {x:?}: {found}, lmfit has {value}");
            worst = worst.max(off);
        }
        seen += 1;
    }
    println!("{seen} cases, off by {worst:e} at most");
    assert!(seen >= 40, "{seen}");
}
