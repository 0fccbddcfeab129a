// The guide: the pages of `docs/guide` and the pages to which they link. The tests compile and run their code.
//
// Links between pages are reference links, `[text][models.md]`. The definitions at the end of a page are for readers of
// the files. The documentation inserts `guide_links.md`, with its own definitions, before each page; the first
// definition of a link counts.

/// Defines one module per page.
macro_rules! pages {
    ($($(#[$when:meta])? $name:ident: $file:literal;)*) => {$(
        $(#[$when])?
        #[doc = include_str!("guide_links.md")]
        #[doc = include_str!($file)]
        pub mod $name {}
    )*};
}

pages! {
    // The code of these pages reads files; the tests of the crate dualfit-io run it.
    #[cfg(not(doctest))]
    tour: "../docs/guide/tour.md";
    choosing: "../docs/guide/choosing.md";
    #[cfg(not(doctest))]
    tables: "../docs/guide/tables.md";
    #[cfg(not(doctest))]
    streaming_csv: "../docs/guide/streaming_csv.md";
    global_fits: "../docs/guide/global_fits.md";
    models: "../docs/guide/models.md";
    compiler: "../docs/guide/compiler.md";
    angles: "../docs/guide/angles.md";
    not_converging: "../docs/guide/not_converging.md";
    error_bars: "../docs/guide/error_bars.md";
    checking: "../docs/guide/checking.md";
    r_squared: "../docs/guide/r_squared.md";
    // The tests of the crate dualfit-plot run the code of this page.
    #[cfg(not(doctest))]
    figures: "../docs/guide/figures.md";
    #[cfg(any(not(doctest), feature = "json"))]
    saving: "../docs/guide/saving.md";
    cpu_or_gpu: "../docs/guide/cpu_or_gpu.md";
    installing_cuda: "../docs/guide/installing_cuda.md";
    performance: "../docs/guide/performance.md";
    coming_from: "../docs/guide/coming_from.md";
    lessons: "../docs/guide/lessons.md";
    accuracy: "../docs/guide/accuracy.md";
    numerics: "../docs/guide/numerics.md";
    mathematics: "../docs/mathematics.md";
    benchmarks: "../docs/benchmarks.md";
}
