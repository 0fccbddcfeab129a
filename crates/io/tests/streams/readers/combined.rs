//! Chains, folders and strides.

use crate::readers::damage::Folder;
use crate::readers::points::{Point, check, rest};
use dualfit::error::SourceError;
use dualfit::source::{ChainSource, FnSource, SliceSource, Source, StridedSource};
use dualfit_io::NumberType::{F32, F64};
use dualfit_io::{DirectorySource, RawFile, RawSource};
use std::path::Path;

fn numbers(range: std::ops::Range<u64>) -> Vec<Point> {
    range.map(|i| (vec![i as f64], 2.0 * i as f64, None)).collect()
}

fn function(range: std::ops::Range<u64>) -> Box<dyn Source> {
    let (start, count) = (range.start, range.end - range.start);
    Box::new(FnSource::new(count, move |i| ((start + i) as f64, 2.0 * (start + i) as f64)))
}

#[test]
fn chains_are_their_parts_in_order() {
    let parts = || [0..10, 10..10, 10..11, 11..11, 11..11, 11..40, 40..40].map(function);
    check(ChainSource::new(parts()).unwrap(), &numbers(0..40));
    check(ChainSource::new([5..5, 5..5].map(function)).unwrap(), &[]);
    let chain = ChainSource::new(parts()).unwrap();
    let parts = ChainSource::new([0..10, 10..40].map(function)).unwrap();
    assert_ne!(chain.fingerprint(), parts.fingerprint());
}

#[test]
fn the_odd_one_of_a_chain_is_named() {
    let (a, b) = ([1.0; 3], [1.0_f32; 3]);
    let plain = || SliceSource::new(&a, &a).unwrap();
    let said = ChainSource::new([plain(), plain(), plain().sigma(&a).unwrap()]).unwrap_err();
    let said = said.to_string();
    assert!(said.contains("source 2 of a chain") && said.contains("with sigma"), "{said}");
    let odd = SliceSource::new(&a, &b).unwrap();
    let said = ChainSource::new([plain(), odd]).unwrap_err().to_string();
    assert!(said.contains("source 1 of a chain") && said.contains("y F32"), "{said}");
    let said = ChainSource::<SliceSource<'_>>::new([]).unwrap_err().to_string();
    assert!(said.contains("empty"), "{said}");
    let huge = || FnSource::new(u64::MAX, |i| (i as f64, 0.0));
    assert!(ChainSource::new([huge(), huge()].map(|s| Box::new(s) as Box<dyn Source>)).is_err());
}

fn open(path: &Path) -> Result<RawSource, SourceError> {
    RawSource::open([RawFile::new(path, [F64, F64])])
}

fn rows(range: std::ops::Range<u64>) -> Vec<u8> {
    range.flat_map(|i| [i as f64, 2.0 * i as f64]).flat_map(f64::to_le_bytes).collect()
}

#[test]
fn a_folder_is_its_files_in_order_of_name() {
    let folder = Folder::new();
    folder.write("b.bin", rows(10..11));
    folder.write("d.bin", rows(11..40));
    folder.write("a.bin", rows(0..10));
    folder.write("c.bin", rows(0..0));
    folder.write("e.bin", rows(0..0));
    folder.write(".hidden", "no points");
    std::fs::create_dir(folder.path().join("another")).unwrap();
    check(DirectorySource::open(folder.path(), open).unwrap(), &numbers(0..40));
    let some = ["b.bin", "a.bin"].map(|name| folder.path().join(name));
    let source = DirectorySource::files(some, open).unwrap();
    check(source, &[numbers(10..11), numbers(0..10)].concat());
}

#[test]
fn files_of_a_folder_that_differ_or_change_are_errors() {
    let folder = Folder::new();
    let said = DirectorySource::open(folder.path(), open).unwrap_err().to_string();
    assert!(said.contains("no files"), "{said}");
    folder.write("a.bin", rows(0..10));
    folder.write("b.bin", rows(10..20));
    let mut source = DirectorySource::open(folder.path(), open).unwrap();
    let before = source.fingerprint().unwrap();
    folder.write("b.bin", rows(10..19));
    let said = rest(&mut source, 7).unwrap_err().to_string();
    assert!(said.contains("b.bin: its number of points was 10 and is 9"), "{said}");
    assert_ne!(source.fingerprint().unwrap(), before);
    folder.write("b.bin", rows(10..20));
    source.rewind().unwrap();
    assert_eq!(rest(&mut source, 7).unwrap(), numbers(0..20));
    folder.write("b.bin", [0; 17]);
    let said = DirectorySource::open(folder.path(), open).unwrap_err().to_string();
    assert!(said.contains("b.bin, row 1"), "{said}");
    folder.write("b.bin", [0; 16]);
    let by_name = |path: &Path| {
        let y = if path.ends_with("a.bin") { F64 } else { F32 };
        RawSource::open([RawFile::new(path, [y, y])])
    };
    let said = DirectorySource::open(folder.path(), by_name).unwrap_err().to_string();
    assert!(said.contains("b.bin: its columns are") && said.contains("a.bin are"), "{said}");
    let said = DirectorySource::open(folder.path().join("none"), open).unwrap_err().to_string();
    assert!(said.contains("none: the folder cannot be read"), "{said}");
}

#[test]
fn thousands_of_files_need_no_thousand_handles() {
    let folder = Folder::new();
    for i in 0..3000_u64 {
        folder.write(&format!("{i:05}"), rows(i..i + 1));
    }
    let mut source = DirectorySource::open(folder.path(), open).unwrap();
    assert_eq!(rest(&mut source, 1000).unwrap(), numbers(0..3000));
    source.rewind().unwrap();
    assert_eq!(source.skip(2990).unwrap(), 2990);
    assert_eq!(rest(&mut source, 1000).unwrap(), numbers(2990..3000));
}

#[test]
fn strides_pick_every_kth_point() {
    for every in [1, 2, 3, 10, 63, 64, 65, 100, 1000, u64::MAX] {
        for offset in [0, 1, 2, 63, 64, 65, 199, 200, 201, u64::MAX] {
            let source = StridedSource::new(function(0..200), every.try_into().unwrap(), offset);
            let expected: Vec<Point> = numbers(0..200)
                .into_iter()
                .skip(usize::try_from(offset).unwrap())
                .step_by(usize::try_from(every).unwrap())
                .collect();
            check(source, &expected);
        }
    }
    let (x, sigma) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
    let source = SliceSource::new(&x, &x).unwrap().sigma(&sigma).unwrap();
    let source = StridedSource::new(source, 2.try_into().unwrap(), 1);
    check(source, &[(vec![2.0], 2.0, Some(6.0)), (vec![4.0], 4.0, Some(8.0))]);
}
