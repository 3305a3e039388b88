//! Shared by the stories: a server to play on, and a way to tell a story.
//!
//! The library itself needs none of this; the stories are in the folder above.

mod shell;
mod story;
mod text;

pub use crate::{
    story::{Cost, Story},
    text::{moment, table, thousands},
};

/// Prints a call, makes it, and prints what the driver sent to the server.
#[macro_export]
macro_rules! show {
    ($story:expr, $call:expr) => {{
        $story.calls(stringify!($call));
        let result = $call;
        $story.sent();
        result
    }};
}

/// Prints a call, makes it, and prints what it cost.
#[macro_export]
macro_rules! cost {
    ($story:expr, $call:expr) => {{
        $story.calls(stringify!($call));
        let result = $call;
        $story.cost_only();
        result
    }};
}
