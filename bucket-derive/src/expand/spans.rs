//! Spans: where the compiler points.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The span of the last token.
pub(crate) fn last_span(tokens: &impl ToTokens) -> Span {
    let last = tokens.to_token_stream().into_iter().last();
    last.map_or_else(Span::call_site, |tree| tree.span())
}

/// The tokens with another location, for errors about them. Names resolve as before.
pub(crate) fn located_at(tokens: &impl ToTokens, span: Span) -> TokenStream {
    let trees = tokens.to_token_stream().into_iter();
    trees
        .map(|mut tree| {
            tree.set_span(tree.span().located_at(span));
            tree
        })
        .collect()
}
