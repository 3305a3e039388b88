//! Reading: pages, streams of items, rollups, views, and change streams.

pub(crate) mod count;
pub(crate) mod find_page;
pub(crate) mod items;
pub(crate) mod page;
pub(crate) mod pages;
pub(crate) mod part;
pub(crate) mod reader;
pub(crate) mod rollup;
pub(crate) mod settings;
pub(crate) mod stored_bucket;
pub(crate) mod stream;
pub(crate) mod token;
pub(crate) mod watch;
