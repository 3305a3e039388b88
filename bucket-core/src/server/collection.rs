//! A collection itself: it is created and sharded, and its indexes are listed and changed.

mod create;
mod index;
