//! The derives' messages about each invalid fixture, as its `.stderr` has them.
//!
//! `tests/fixtures/ui.rs` asks the compiler, which takes a minute; mutants of the checks are too many for that.

use std::{
    fs,
    path::{Path, PathBuf},
};

use quote::ToTokens;
use syn::{DeriveInput, Item, visit::Visit};

use crate::tests::help::{derives, fixture_paths, mistakes_in};

/// The derives' messages about all items of a file.
#[derive(Default)]
struct Messages(Vec<Message>);

/// A message and its line. Its column is left out: before the compiler, parts of a literal have places of their own.
type Message = (usize, String);

impl<'ast> Visit<'ast> for Messages {
    fn visit_item(&mut self, item: &'ast Item) {
        syn::visit::visit_item(self, item);
        // Only a struct, an enum and a union are input of derives.
        let Ok(mut input) = syn::parse2::<DeriveInput>(item.to_token_stream()) else {
            return;
        };
        let derives = derives(&input.attrs);
        input.attrs.retain(|attr| !attr.path().is_ident("derive"));
        for derive in derives {
            let mistakes = mistakes_in((derive.1)(input.to_token_stream())).into_iter();
            self.0.extend(mistakes.map(|mistake| {
                let text = format!("{}\nhelp: {}", mistake.message, mistake.help);
                (mistake.at.line, as_compiled(&text))
            }));
        }
    }
}

fn said(path: &Path) -> Vec<Message> {
    let mut messages = Messages::default();
    messages.visit_file(&syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap());
    messages.0.sort();
    messages.0
}

/// The messages in a `.stderr` but the compiler's own: only ours have a help line indented below the message.
fn blessed(stderr: PathBuf) -> Vec<Message> {
    let stderr = fs::read_to_string(stderr).unwrap();
    let messages = stderr.split("\n\n").filter_map(|message| {
        let (text, place) = message.strip_prefix("error: ")?.split_once("--> ")?;
        let line = place.split(':').nth(1)?.parse().unwrap();
        let text = text.trim_end().replace("\n       ", "\n");
        text.contains("\nhelp: ")
            .then(|| (line, as_compiled(&text)))
    });
    let mut messages = Vec::from_iter(messages);
    messages.sort();
    messages
}

/// The text with what the compiler prints in its own manner: control characters, and the spaces between tokens.
fn as_compiled(text: &str) -> String {
    text.replace('\0', "␀").replace(" (", "(")
}

#[test]
fn the_derives_say_what_is_blessed() {
    let mut messages = 0;
    for (name, path) in fixture_paths("invalid") {
        let (said, blessed) = (said(&path), blessed(path.with_extension("stderr")));
        assert!(
            said == blessed,
            "{name}\nsaid: {said:#?}\nblessed: {blessed:#?}"
        );
        messages += said.len();
    }
    assert!(messages > 340, "{messages} messages are compared");
}
