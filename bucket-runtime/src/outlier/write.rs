//! Writing parents, and items in them and in their extras.

mod append_extras;
mod combine_pushes;
mod delete;
mod edit;
mod insert;
mod push;
mod push_many;
mod push_unique;
mod update;
mod upsert;
mod waiting_items;

pub use self::push_many::PushManyError;
pub use self::push_unique::ITEMS_PER_COMPARISON;
