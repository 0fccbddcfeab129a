//! Python and Rust code that repeats a fit of the page.

use dualfit_io::{CsvOptions, Table};
use std::error::Error;

/// The fit to repeat.
pub(crate) struct Code<'a> {
    pub(crate) table: &'a Table,
    pub(crate) text: &'a str,
    /// The file's name.
    pub(crate) file: &'a str,
    /// The text of the model.
    pub(crate) model: &'a str,
    /// Name of the independent variable in a formula; `None` for models of the library.
    pub(crate) variable: Option<&'a str>,
    /// Columns of x, y and sigma, from 0.
    pub(crate) columns: (usize, usize, Option<usize>),
}

impl Code<'_> {
    pub(crate) fn python(&self) -> Result<String, Box<dyn Error>> {
        let header = if self.table.has_names() { "" } else { ", header=None" };
        let decimal = if self.has_decimal_commas()? { ", decimal=\",\"" } else { "" };
        let (file, model) = (quoted(self.file), quoted(self.model.trim()));
        let model = match self.variable {
            None => format!("dualfit.models.parse({model})"),
            Some(variable) => format!("dualfit.Model({model}, variables=[{}])", quoted(variable)),
        };
        let (x, y, sigma) = self.columns;
        let column = |column: usize| format!("table.iloc[:, {column}]");
        let sigma = sigma.map_or_else(String::new, |sigma| {
            format!(", sigma={}, absolute_sigma=True", column(sigma))
        });
        Ok(format!(
            "import dualfit\nimport pandas as pd\n\n\
             table = pd.read_csv({file}, sep=None, engine=\"python\"{header}{decimal}, comment=\"#\")\n\
             model = {model}\n\
             fit = model.fit({}, {}{sigma}, nan_policy=\"omit\")\n\
             print(fit)\n\
             fit.plot()\n",
            column(x),
            column(y)
        ))
    }

    pub(crate) fn rust(&self) -> String {
        let (file, model) = (quoted(self.file), quoted(self.model.trim()));
        let (imports, model) = match self.variable {
            None => (
                "CurveFit, Missing, Start, models",
                format!("CurveFit::from(models::parse({model})?)"),
            ),
            Some(variable) => (
                "CurveFit, Missing, Start",
                format!("CurveFit::parse({model}, [{}])?", quoted(variable)),
            ),
        };
        let (x, y, sigma) = self.columns;
        let sigma = sigma.map_or_else(String::new, |sigma| format!(".sigma_column({sigma})?"));
        format!(
            "use dualfit::{{{imports}}};\n\
             use dualfit_io::{{CsvOptions, Table}};\n\n\
             fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
             let table = Table::read_with({file}, CsvOptions::detected())?;\n    \
             let set = table.data({x}, {y})?{sigma}.missing(Missing::Omit);\n    \
             let model = {model};\n    \
             let fit = model.fit(set.data()?, Start::Guess)?;\n    \
             println!(\"{{fit}}\");\n    \
             Ok(())\n}}\n"
        )
    }

    /// Returns true if the numbers of the fit can only be read with decimal commas.
    fn has_decimal_commas(&self) -> Result<bool, Box<dyn Error>> {
        let (x, y, _) = self.columns;
        let read = |commas: bool| {
            let options = CsvOptions::detected().decimal_comma(commas);
            Table::from_reader(self.file, self.text.as_bytes(), options)?.columns([x, y])
        };
        let bits = |columns: &[Vec<f64>]| -> Vec<u64> {
            columns.iter().flatten().map(|value| value.to_bits()).collect()
        };
        let detected = bits(&self.table.columns([x, y])?);
        let is_it = |commas: bool| read(commas).is_ok_and(|other| bits(&other) == detected);
        Ok(!is_it(false) && is_it(true))
    }
}

/// Returns a string literal of Python and of Rust.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}
