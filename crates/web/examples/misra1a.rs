//! The code that the page shows for the data set Misra1a of NIST.

use dualfit::{CurveFit, Missing, Start};
use dualfit_io::{CsvOptions, Table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = Table::read_with("data.csv", CsvOptions::detected())?;
    let set = table.data(0, 1)?.missing(Missing::Omit);
    let model = CurveFit::parse("b1*(1 - exp(-b2*x))", ["x"])?;
    let fit = model.fit(set.data()?, Start::Guess)?;
    println!("{fit}");
    Ok(())
}
