//! Tests of the cache with a compiler that counts its calls.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Compiler whose image is the number of the call, followed by the source. It refuses sources that begin with `!`.
#[derive(Default)]
struct Counting {
    calls: AtomicUsize,
}

impl Compiler for Counting {
    fn identity(&self) -> String {
        "counting".into()
    }

    fn compile(&self, source: &str, _: (u32, u32)) -> Result<Image, CompileError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if source.starts_with('!') {
            return Err(CompileError::Refused { log: source.into() });
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
        Ok(Image { bytes: format!("{call} {source}").into_bytes(), log: "log".into() })
    }
}

fn cache(folder: &std::path::Path) -> Cache {
    Cache::new(Some(DiskCache::new(folder.to_owned(), 1 << 20)))
}

#[test]
fn an_image_is_compiled_once_and_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let (compiler, first) = (Counting::default(), cache(folder.path()));
    let (image, origin) = first.image(&compiler, "a", (9, 0)).unwrap();
    assert_eq!((origin, image.log.as_str()), (Origin::Compiler, "log"));
    assert_eq!(first.image(&compiler, "a", (9, 0)).unwrap(), (image.clone(), Origin::Memory));
    // The memory of another process is empty.
    let (again, origin) = cache(folder.path()).image(&compiler, "a", (9, 0)).unwrap();
    assert_eq!(
        (origin, again.bytes == image.bytes, again.log),
        (Origin::Disk, true, String::new())
    );
    assert_eq!(compiler.calls.load(Ordering::SeqCst), 1);
}

#[test]
fn whatever_an_image_is_made_of_is_in_its_key() {
    let key = Key::new("source", (9, 0), "identity");
    assert_eq!(key, Key::new("source", (9, 0), "identity"));
    for other in [
        Key::new("sourc", (9, 0), "eidentity"),
        Key::new("source ", (9, 0), "identity"),
        Key::new("source", (9, 1), "identity"),
        Key::new("source", (8, 0), "identity"),
        Key::new("source", (0, 9), "identity"),
        Key::new("source", (9, 0), "identity 2"),
    ] {
        assert_ne!(key, other);
    }
    assert_eq!(key.to_string().len(), 64);
}

#[test]
fn a_refused_source_is_not_kept() {
    let (compiler, cache) = (Counting::default(), Cache::in_memory());
    for call in 1..=2 {
        assert!(cache.image(&compiler, "! wrong", (9, 0)).is_err());
        assert_eq!(compiler.calls.load(Ordering::SeqCst), call);
    }
}

#[test]
fn threads_that_want_one_image_wait_for_it() {
    let (compiler, cache) = (Counting::default(), Cache::in_memory());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| cache.image(&compiler, "one", (9, 0)).unwrap());
        }
        for i in 0..8 {
            let (cache, compiler) = (&cache, &compiler);
            scope.spawn(move || cache.image(compiler, &format!("other {i}"), (9, 0)).unwrap());
        }
    });
    assert_eq!(compiler.calls.load(Ordering::SeqCst), 9);
}

#[test]
fn an_image_that_the_driver_refused_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let (compiler, cache) = (Counting::default(), cache(folder.path()));
    let (first, _) = cache.image(&compiler, "a", (9, 0)).unwrap();
    cache.forget(&compiler, "a", (9, 0));
    let (second, origin) = cache.image(&compiler, "a", (9, 0)).unwrap();
    assert!(origin == Origin::Compiler && first != second);
}

#[test]
fn a_corrupt_entry_is_compiled_again_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Counting::default();
    cache(folder.path()).image(&compiler, "a", (9, 0)).unwrap();
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "no entry").unwrap();
    let origin = || cache(folder.path()).image(&compiler, "a", (9, 0)).unwrap().1;
    assert_eq!((origin(), origin()), (Origin::Compiler, Origin::Disk));
}
