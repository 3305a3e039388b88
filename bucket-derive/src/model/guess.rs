//! What a field is most likely meant to be, told by how its type is spelled. Good enough for help lines
//! and stubs, and for nothing else: what a type can be is the compiler's to say.

use syn::Type;

use super::Field;

/// The types of keys that most structs have.
const KEYS: [&str; 15] = [
    "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "bool", "String",
    "ObjectId", "Uuid", "str",
];

/// The types of times that the runtime knows.
const TIMES: [&str; 4] = ["DateTime", "OffsetDateTime", "UtcDateTime", "Timestamp"];

/// The field that items most likely belong to.
pub(crate) fn key<'f, 'a, Part>(fields: &'f [Field<'a, Part>]) -> Option<&'f Field<'a, Part>> {
    let by_type = fields.iter().find(|field| is_one_of(&field.node.ty, &KEYS));
    by_type.or_else(|| fields.iter().find(|field| !is_time(field)))
}

/// The field that most likely is an item's time.
pub(crate) fn time<'f, 'a, Part>(fields: &'f [Field<'a, Part>]) -> Option<&'f Field<'a, Part>> {
    fields.iter().find(|field| is_time(field))
}

/// Whether the field looks like a time.
pub(crate) fn is_time<Part>(field: &Field<'_, Part>) -> bool {
    is_one_of(&field.node.ty, &TIMES)
}

fn is_one_of(ty: &Type, names: &[&str]) -> bool {
    match ty {
        Type::Group(group) => is_one_of(&group.elem, names),
        Type::Path(ty) => {
            let last = ty.path.segments.last();
            last.is_some_and(|last| names.iter().any(|name| last.ident == name))
        }
        _ => false,
    }
}
