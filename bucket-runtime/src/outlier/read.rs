//! Reading parents and their extras.

mod count;
mod extras;
mod filter;
mod find;
mod find_item;
mod get;
mod item_form;
mod items;
mod parent;
mod rows;
mod section;
pub(crate) mod unreadable;
mod watch;

pub use self::{
    extras::{Extras, ExtrasBucket},
    filter::ParentFilter,
    find::Find,
    find_item::FoundItem,
    item_form::PartsOfItems,
    items::ParentItems,
    parent::Parent,
    watch::NewItem,
};
pub(crate) use self::{item_form::ParentItemForm, parent::ParentForm};
