//! Writing parents, and items in them and in their extras.

mod append_extras;
mod combine_pushes;
mod delete;
mod edit;
mod insert;
mod push;
mod push_many;
mod update;
mod upsert;

pub use self::{push::ITEMS_PER_COMPARISON, push_many::PushManyError};
