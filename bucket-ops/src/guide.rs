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
    taking_over
    importing
    #[doc(alias = "ttl", alias = "retention")]
    archive
    changing_capacity
    migrating
    sharding
    privileges_and_indexes
    operations
    command_line
}
