//! Detection of changed files, for every format and for sources that consist of several files.

use crate::stream::changed::{fitted, long_ago, set_time, what};
use crate::stream::support::folder;
use dualfit::error::SourceError;
use dualfit::source::{ChainSource, Source, StridedSource};
use dualfit_io::{ArrowSource, CsvOptions, CsvSource, DirectorySource, NpySource, ParquetSource};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn recorded(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/files").join(name)).unwrap()
}

/// Returns a table of numbers in this format.
fn table(format: &str) -> Vec<u8> {
    match format {
        "csv" => (0..37).map(|i| format!("{i},{}\n", 40 - i)).collect::<String>().into_bytes(),
        "npy" => recorded("table_f8.npy"),
        "parquet" => recorded("plain.parquet"),
        _ => recorded("plain.arrow"),
    }
}

fn opened(path: &Path) -> std::result::Result<Box<dyn Source>, SourceError> {
    Ok(match path.extension().and_then(|e| e.to_str()) {
        Some("csv") => {
            let options = CsvOptions::default().header_rows(0);
            Box::new(CsvSource::open_with(path, options)?)
        }
        Some("npy") => Box::new(NpySource::open(path)?),
        Some("parquet") => Box::new(ParquetSource::open(path)?.x(["t"])?.y("error")?),
        _ => Box::new(ArrowSource::open(path)?.x(["t"])?.y("error")?),
    })
}

#[test]
fn every_format_and_every_combination_notices() {
    let folder = folder();
    for format in ["csv", "npy", "parquet", "arrow"] {
        let path = folder.path().join("points").with_extension(format);
        let other = folder.path().join("others").with_extension(format);
        let write = || {
            for path in [&path, &other] {
                fs::write(path, table(format)).unwrap();
                set_time(path, long_ago());
            }
        };
        let touch = |path: &PathBuf| {
            let path = path.clone();
            move || set_time(&path, SystemTime::now())
        };
        let both = || [other.clone(), path.clone()];
        for touched in [&path, &other] {
            for pass in [1, 2] {
                write();
                let files = DirectorySource::files(both(), opened).unwrap();
                let fit = fitted(files, pass, touch(touched));
                assert_eq!(what(fit), "time of change", "{format}, files, pass {pass}");
                let chain = ChainSource::new(both().map(|path| opened(&path).unwrap())).unwrap();
                let fit = fitted(chain, pass, touch(touched));
                // The chain was opened after the first change of the file.
                assert_eq!(what(fit), "time of change", "{format}, chain, pass {pass}");
            }
        }
        write();
        let one = opened(&path).unwrap();
        assert_eq!(what(fitted(one, 2, touch(&path))), "time of change", "{format}");
        write();
        let strided = StridedSource::new(opened(&path).unwrap(), 2.try_into().unwrap(), 0);
        assert_eq!(what(fitted(strided, 1, touch(&path))), "time of change", "{format}");
    }
}
