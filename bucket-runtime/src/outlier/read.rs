//! Reading parents and their extras.

mod count;
mod extras;
mod filter;
mod find;
mod get;
mod get_all;
mod items;
mod parent;
mod parent_read;
pub(super) mod unreadable;

pub use self::{
    count::CountParentItems,
    extras::{Extras, ExtrasBucket, ExtrasStream},
    filter::ParentFilter,
    find::{Find, FindParts, FindStream},
    get::Get,
    get_all::GetAll,
    items::{ParentItemStream, ParentItems},
    parent::Parent,
};
