//! Reading parents and their extras.

mod count;
mod extras;
mod filter;
mod find;
mod find_item;
mod get;
mod get_all;
mod item_form;
mod items;
mod parent;
mod parent_read;
mod rows;
mod section;
mod stream;
pub(crate) mod unreadable;
mod watch;

pub use self::{
    count::CountParentItems,
    extras::{Extras, ExtrasBucket},
    filter::ParentFilter,
    find::Find,
    find_item::{FindItem, FoundItem},
    get::Get,
    get_all::GetAll,
    item_form::PartsOfItems,
    items::ParentItems,
    parent::Parent,
    stream::ParentItemStream,
    watch::NewItem,
};
pub(crate) use self::{item_form::ParentItemForm, parent::ParentForm};
