//! Writing parents, and items in them and in their extras.

mod delete;
mod extend;
mod insert;
mod push;
mod push_many;
mod remove;

pub use self::{
    delete::Delete,
    insert::Insert,
    push::Push,
    push_many::{PushMany, PushManyError},
    remove::Remove,
};
