//! Files written by NumPy, intact and damaged.

use crate::readers::damage::{Folder, cut_everywhere, recorded, refused};
use crate::readers::points::{Point, check, rest};
use dualfit::source::{Source, Width};
use dualfit_io::NpySource;

fn table(n: i32, sigma: bool) -> Vec<Point> {
    let point = |i: i32| {
        let (x, z, y) = (f64::from(i) / 2.0 - 3.0, f64::from(i * i), f64::from(100 - 7 * i));
        if sigma { (vec![x], y, Some(z)) } else { (vec![z, x], y, None) }
    };
    (0..n).map(point).collect()
}

#[test]
fn tables_of_every_order_and_version() {
    for name in [
        "table_f8",
        "table_f8_big",
        "table_f8_fortran",
        "table_f4",
        "table_f4_big_fortran",
        "table_v2",
        "table_v3",
    ] {
        let open = || NpySource::open(recorded(&format!("{name}.npy"))).unwrap();
        let width = if name.contains("f4") { Width::F32 } else { Width::F64 };
        assert_eq!(open().shape().y, width, "{name}");
        check(open().x([1, 0]).unwrap().y(2).unwrap(), &table(23, false));
        check(open().y(2).unwrap().sigma(1).unwrap(), &table(23, true));
    }
    check(
        NpySource::open(recorded("one_row.npy")).unwrap().x([1, 0]).unwrap().y(2).unwrap(),
        &table(1, false),
    );
    check(NpySource::open(recorded("no_rows.npy")).unwrap().x([1, 0]).unwrap().y(2).unwrap(), &[]);
}

#[test]
fn columns_of_every_type_in_files_of_their_own() {
    let limits: [(&str, f64, f64); 8] = [
        ("i1", i8::MIN.into(), i8::MAX.into()),
        ("u1", 0.0, u8::MAX.into()),
        ("i2", i16::MIN.into(), i16::MAX.into()),
        ("u2", 0.0, u16::MAX.into()),
        ("i4", i32::MIN.into(), i32::MAX.into()),
        ("u4", 0.0, u32::MAX.into()),
        ("i8", i64::MIN as f64, i64::MAX as f64),
        ("u8", 0.0, u64::MAX as f64),
    ];
    for (kind, least, most) in limits {
        let integer = |i: i32| match i {
            0 => least,
            22 => most,
            _ => f64::from(i * 11 % 100),
        };
        let expected: Vec<Point> = (0..23)
            .map(|i| {
                (
                    vec![integer(i), f64::from(i) / 2.0 - 3.0],
                    f64::from(100 - 7 * i),
                    Some(integer(i)),
                )
            })
            .collect();
        let names = [
            format!("column_{kind}.npy"),
            "column_f8.npy".into(),
            "column_f4_big.npy".into(),
            format!("column_{kind}_big.npy"),
        ];
        let source = NpySource::open_all(names.map(|name| recorded(&name))).unwrap();
        check(source.y(2).unwrap().x([0, 1]).unwrap().sigma(3).unwrap(), &expected);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let said = |name: &str| NpySource::open(recorded(name)).unwrap_err().to_string();
    for (name, why) in [
        ("complex.npy", "it holds `<c16`; f4, f8 and integers can be read"),
        ("cube.npy", "its shape is [23, 3, 1]"),
        ("scalar.npy", "its shape is []"),
        ("named.npy", "it holds `[('t', '<f8'), ('y', '<f4')]`"),
        ("column_f8.npy", "it has 1 column(s)"),
    ] {
        assert!(said(name).contains(name) && said(name).contains(why), "{}", said(name));
    }
    let paths = ["column_f8.npy", "table_f8.npy", "one_row.npy"].map(recorded);
    let said = NpySource::open_all(paths).unwrap_err().to_string();
    assert!(said.contains("one_row.npy: it has 1 points and") && said.contains("has 23"), "{said}");
}

#[test]
fn cut_anywhere_it_is_an_error() {
    for name in ["table_f8.npy", "table_f8_fortran.npy", "table_v3.npy", "column_i2.npy"] {
        let bytes = std::fs::read(recorded(name)).unwrap();
        let open = |path: &std::path::Path| NpySource::open_all([path, path]);
        assert_eq!(cut_everywhere(&bytes, &[], open), 0, "{name}");
    }
    let bytes = std::fs::read(recorded("table_f8.npy")).unwrap();
    let said = refused(&bytes[..bytes.len() - 30], |path| NpySource::open(path));
    assert!(said.contains("row 21: it is cut short: its shape is [23, 3]"), "{said}");
}

#[test]
fn headers_that_lie_are_refused() {
    let file = |descr: &str, shape: &str| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([0; 64]);
        bytes
    };
    let folder = Folder::new();
    let good = NpySource::open(folder.write("good", file("<f8", "(4, 2)"))).unwrap();
    check(good, &vec![(vec![0.0], 0.0, None); 4]);
    for shape in [
        "(1152921504606846976, 2)",
        "(2, 1152921504606846976)",
        "(9223372036854775807, 9223372036854775807)",
        "(99999999999999999999999, 2)",
        "(5, 2)",
        "(-1, 2)",
        "(0, 9999999)",
        "(4, 2",
        "4, 2",
        "(4.0, 2)",
    ] {
        refused(file("<f8", shape), |path| NpySource::open(path));
    }
    for descr in ["", "f8", "=f8", "<f16", "<U8", "é8", "<f8'"] {
        refused(file(descr, "(4, 2)"), |path| NpySource::open(path));
    }
    let good = file("<f8", "(4, 2)");
    for (at, byte) in [(0, 0), (6, 4), (6, 0), (8, 255), (9, 255), (10, b'('), (20, 0xff)] {
        let mut bytes = good.clone();
        bytes[at] = byte;
        refused(bytes, |path| NpySource::open(path));
    }
}

#[test]
fn a_file_that_shrinks_is_an_error_with_its_row() {
    let folder = Folder::new();
    let bytes = std::fs::read(recorded("table_f8.npy")).unwrap();
    let path = folder.write("shrinks.npy", &bytes);
    let mut source = NpySource::open(&path).unwrap();
    folder.write("shrinks.npy", &bytes[..bytes.len() - 100]);
    let said = rest(&mut source, 100).unwrap_err().to_string();
    assert!(said.contains("shrinks.npy, row 18") && said.contains("do not change it"), "{said}");
    source.rewind().unwrap();
    assert!(rest(&mut source, 100).is_err());
    folder.write("shrinks.npy", &bytes);
    source.rewind().unwrap();
    assert_eq!(rest(&mut source, 100).unwrap().len(), 23);
}
