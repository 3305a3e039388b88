//! The rules of the `unique` field, which identifies an item within its key.

use crate::{
    check::names::check_indexes,
    errors::Errors,
    model::bucket::{BucketModel, Role},
    parse::attr::BUCKET,
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    check_indexes(&BUCKET, "unique", &model.fields, errors);
    let marked = model.fields.iter();
    let marked = marked.filter_map(|field| Some((field, field.attr.word("unique")?)));
    for (n, (field, word)) in marked.enumerate() {
        if n > 0 {
            errors.push(
                word,
                "a second field with `unique`: one field tells the items of a key apart",
                "keep `#[bucket(unique)]` on one field, such as an id that the sender chooses",
            );
        }
        if field.part == Role::Key {
            errors.push(
                word,
                "`unique` on a key field: it is the same in all items of a key",
                "put `#[bucket(unique)]` on a field that tells the items of a key apart",
            );
        } else if let Some(skip) = field.serde.find("skip_serializing_if") {
            errors.push(
                &skip.tokens,
                format_args!("`{}` is `unique`, so it must always be stored", field.name),
                "remove `skip_serializing_if`",
            );
        }
    }
}
