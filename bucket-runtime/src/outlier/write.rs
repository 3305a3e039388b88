//! Writing parents, and items in them and in their extras.

mod combined;
mod delete;
mod edit;
mod extend;
mod identified;
mod insert;
mod push;
mod push_many;
mod update;
mod upsert;
mod waiting_items;

pub(super) use self::identified::ITEMS_PER_COMPARISON;
pub use self::push_many::PushManyError;
