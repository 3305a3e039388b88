//! Reading parents and their extras.

mod count;
pub(crate) mod extras;
pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod find_item;
mod get;
pub(crate) mod item_form;
pub(crate) mod items;
pub(crate) mod parent;
mod rows;
mod section;
pub(crate) mod unreadable;
pub(crate) mod watch;
