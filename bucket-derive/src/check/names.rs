//! Names in stored documents: which ones a field can have, and that no two fields share one.

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::{
    errors::Errors,
    model::{Field, guess},
    parse::attr::Derive,
};

/// The reason why a text cannot be a field's name (MongoDB manual, "Field Names"). In an update, a
/// dot or a leading dollar sign would also have another meaning.
pub(crate) fn not_a_field_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.starts_with('$') {
        Some("begins with `$`")
    } else if name.contains('.') {
        Some("contains `.`")
    } else if name.contains('\0') {
        Some("contains NUL")
    } else {
        None
    }
}

/// Two fields with one name would overwrite each other, and a query could not name either.
pub(super) fn check_distinct<Part>(fields: &[Field<'_, Part>], errors: &mut Errors) {
    for (n, field) in fields.iter().enumerate() {
        let clash = fields[..n]
            .iter()
            .find_map(|earlier| Some((earlier, shared(earlier, field)?)));
        let Some((earlier, name)) = clash else {
            continue;
        };
        let alias = field.serde.entries.iter().find(|entry| {
            entry.is("alias") && entry.string().is_some_and(|alias| alias.value() == name)
        });
        match alias {
            Some(alias) => errors.push(
                &alias.tokens,
                format_args!(
                    "`{}` and `{}` are both read as `{name}`",
                    earlier.name, field.name
                ),
                "remove the alias",
            ),
            None => errors.push(
                name_tokens(field),
                format_args!(
                    "`{}` and `{}` are both stored as `{name}`",
                    earlier.name, field.name
                ),
                rename(field, "value"),
            ),
        }
    }
}

/// An index needs a stored name. `word` is the word that asks for an index.
pub(super) fn check_indexes<Part>(
    derive: &Derive,
    word: &str,
    fields: &[Field<'_, Part>],
    errors: &mut Errors,
) {
    for field in fields {
        let Some(at) = field.attr.word(word) else {
            continue;
        };
        if !field.attr.indexes.is_empty() && !guess::may_have_fields(&field.node.ty) {
            let message = format_args!("`{}` has no fields inside", field.name);
            errors.push(at, message, format_args!("#[{}({word})]", derive.attribute));
            continue;
        }
        let wrong = match field.serde.write.as_deref() {
            None if field.serde.has("flatten") => {
                "is flattened, so nothing is stored under its name"
            }
            None => "is not stored",
            Some("_id") => "is stored as `_id`, which always has an index",
            Some(name) => match not_a_field_name(name) {
                Some(_) => "is stored under a name that no index can spell",
                // The server takes it for a place in an array.
                None if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                    "is stored under a number, which no index can spell"
                }
                None => continue,
            },
        };
        errors.push(
            at,
            format_args!("`{}` {wrong}", field.name),
            format_args!("remove `#[{}({word})]`", derive.attribute),
        );
    }
}

/// A collection has at most 64 indexes (MongoDB manual, "Limits"), and `taken` of them are ours.
pub(super) fn check_index_count<Part>(
    derive: &Derive,
    taken: usize,
    fields: &[Field<'_, Part>],
    errors: &mut Errors,
) {
    let most = 64 - taken;
    let marked = fields.iter().flat_map(|field| {
        let indexes = field.attr.indexes.len().max(1);
        let word = field.attr.word("index").into_iter();
        word.flat_map(move |word| std::iter::repeat_n(word, indexes))
    });
    for word in marked.skip(most) {
        errors.push(
            word,
            format_args!("too many indexes: there is room for {most} of yours in a collection"),
            format_args!("remove `#[{}(index)]`", derive.attribute),
        );
    }
}

fn shared<'a, Part>(a: &Field<'_, Part>, b: &'a Field<'_, Part>) -> Option<&'a str> {
    let written = b
        .serde
        .write
        .as_ref()
        .filter(|_| a.serde.write == b.serde.write);
    let read = || b.serde.read.iter().find(|name| a.serde.read.contains(name));
    written.or_else(read).map(String::as_str)
}

/// The tokens that give the name: those of `rename`, else the field.
pub(super) fn name_tokens<Part>(field: &Field<'_, Part>) -> TokenStream {
    match field.serde.find("rename") {
        Some(rename) => rename.tokens.clone(),
        None => field.ident.to_token_stream(),
    }
}

/// The attribute that gives the field a name of its own.
pub(super) fn rename<Part>(field: &Field<'_, Part>, suffix: &str) -> String {
    format!("#[serde(rename = \"{}_{suffix}\")]", field.name)
}
