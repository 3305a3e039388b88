//! Guesses what a field is meant to be, by the spelling of its type. That is good enough for help
//! lines and stubs, and to omit a check where the compiler would complain all the same: only the
//! compiler knows what a type is.

use syn::{GenericArgument, PathArguments, PathSegment, Type, parse_quote};

use super::Field;

/// The common types of keys.
const KEYS: [&str; 15] = [
    "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "bool", "String",
    "ObjectId", "Uuid", "str",
];

/// Common types of values that are neither keys nor times, and have no fields.
const VALUES: [&str; 6] = ["f32", "f64", "char", "Decimal128", "Bson", "Document"];

/// Lists, whose items may have fields.
const LISTS: [&str; 5] = ["Vec", "VecDeque", "LinkedList", "BTreeSet", "HashSet"];

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

/// Whether a value of this type may be stored as a document or as a list of documents, so that
/// conditions or indexes may name fields in it.
pub(crate) fn may_have_fields(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => may_have_fields(&group.elem),
        Type::Array(array) => may_have_fields(&array.elem),
        Type::Slice(slice) => may_have_fields(&slice.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return true;
            };
            let mut around = ["Option", "Box"].iter().chain(&LISTS);
            match around.find_map(|name| inside(name, last)) {
                Some(ty) => may_have_fields(ty),
                None => ![&KEYS[..], &TIMES, &VALUES]
                    .iter()
                    .any(|names| is_one_of(ty, names)),
            }
        }
        _ => false,
    }
}

/// Whether a type may be a time of another crate, or an `Option` of one.
pub(crate) fn may_be_own_date(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => may_be_own_date(&group.elem),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return true;
            };
            match inside("Option", last) {
                Some(ty) => may_be_own_date(ty),
                // The driver's has no parameters, and chrono's has one.
                None if last.ident == "DateTime" => !last.arguments.is_none(),
                None => ![&KEYS[..], &VALUES, &LISTS]
                    .iter()
                    .any(|names| is_one_of(ty, names)),
            }
        }
        _ => false,
    }
}

/// The type with owned values in place of references and of `Rc`s.
pub(crate) fn owned(ty: &Type) -> Type {
    match ty {
        Type::Group(group) => owned(&group.elem),
        Type::Reference(reference) => unborrowed(&reference.elem),
        Type::Path(path) => {
            let mut path = path.clone();
            let Some(last) = path.path.segments.last_mut() else {
                return ty.clone();
            };
            if let Some(shared) = shared(last) {
                return unborrowed(shared);
            }
            for ty in arguments_mut(last) {
                *ty = owned(ty);
            }
            Type::Path(path)
        }
        other => other.clone(),
    }
}

/// Whether the type contains an `Rc`.
pub(crate) fn has_rc(ty: &Type) -> bool {
    match ty {
        Type::Group(group) => has_rc(&group.elem),
        Type::Path(ty) => ty.path.segments.last().is_some_and(|last| {
            shared(last).is_some() || arguments_mut(&mut last.clone()).any(|ty| has_rc(ty))
        }),
        _ => false,
    }
}

/// The type of the items of a `Vec`.
pub(crate) fn item_of_vec(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Path(ty) => inside("Vec", ty.path.segments.last()?),
        _ => None,
    }
}

/// The type inside an `Rc`.
fn shared(segment: &PathSegment) -> Option<&Type> {
    inside("Rc", segment)
}

/// The first argument of a type with this name.
fn inside<'t>(name: &str, segment: &'t PathSegment) -> Option<&'t Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if segment.ident == name => Some(ty),
        _ => None,
    }
}

fn unborrowed(ty: &Type) -> Type {
    match ty {
        Type::Path(path) if path.path.is_ident("str") => parse_quote!(String),
        Type::Slice(slice) => {
            let item = owned(&slice.elem);
            parse_quote!(Vec<#item>)
        }
        other => owned(other),
    }
}

fn arguments_mut(segment: &mut PathSegment) -> impl Iterator<Item = &mut Type> {
    let arguments = match &mut segment.arguments {
        PathArguments::AngleBracketed(arguments) => Some(&mut arguments.args),
        _ => None,
    };
    let arguments = arguments.into_iter().flatten();
    arguments.filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
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
