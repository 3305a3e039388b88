//! With the feature `tracing`: what spans and events tell, compared with the commands that were sent.

mod combined;
mod events;
mod spans;
mod support;
