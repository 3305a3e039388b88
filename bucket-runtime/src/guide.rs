#![doc = include_str!("guide/links.md")]
#![doc = include_str!("guide/README.md")]

/// The pages, in the order of the list in `guide/README.md`.
macro_rules! pages {
    ($($(#[$alias:meta])* $page:ident)+) => {$(
        $(#[$alias])*
        // A failed example is to be reported in its page.
        #[cfg_attr(not(doctest), doc = include_str!("guide/links.md"))]
        #[doc = include_str!(concat!("guide/", stringify!($page), ".md"))]
        pub mod $page {}
    )+};
}

pages! {
    getting_started
    how_it_works
    which_pattern
    compared_with
    choosing
    #[doc(alias = "rest", alias = "json")]
    http_api
    bytes
    versions
    #[doc(alias = "pagination", alias = "cursor")]
    reading
    #[doc(alias = "aggregate", alias = "time series")]
    windows_and_rollups
    watching
    typed_filters
    #[doc(alias = "idempotent")]
    safe_to_repeat
    #[doc(alias = "upsert", alias = "ttl", alias = "delete")]
    edits
    loading
    transactions
    outliers
    outlier_items
    tracing
    calls
    errors
    limits
    how_fast_how_sure
}

// Its code needs the testkit, so the tests' package compiles it.
#[cfg_attr(not(doctest), doc = include_str!("guide/links.md"))]
#[cfg_attr(not(doctest), doc = include_str!("guide/testing.md"))]
#[cfg_attr(doctest, doc = "How to test with a throw-away server.")]
pub mod testing {}
