//! Stage 4: writes the code of a derive, from a checked model.
//!
//! The derive writes an `impl Bucket` with the spec and a few short functions, a struct of typed fields
//! (`FIELDS`), and `__Element`, the type that elements are read into. Both directions go field by field
//! (`expand/reader.rs`, `expand/writer.rs`), since serde's derives take the compiler several times as long. Where an
//! attribute such as `with` or `flatten` changes how a field is read or written, serde's derives interpret the
//! attributes: `Deserialize` of `__Element`, and a second struct for writing, with serde's `remote`.
//!
//! Only the compiler knows whether a type can be a key, a time or a stored value. The generated code names it by
//! an alias, `Fit<T, { key_field::<T>() }>` (`expand/fit.rs`). If the trait is missing, the constant is one
//! error at the field, and whatever uses the alias still compiles; a `where` clause would make every call on the
//! struct an error. `check/readback.rs` refuses structs whose items could be written and not read back.
//!
//! A part (`expand/part.rs`) is another struct, and its derive sees nothing of the whole one. So it names the fields
//! of the whole struct in `FIELDS`: the compiler compares names and types, and each typed field knows how it is read
//! (`protocol/field/reading.rs`, written by `expand/reading.rs`): its names, the user's function, its default, or that
//! it comes from the key. `read/part.rs` reads the fields in the order of the part. If a document has another order, it
//! keeps the values that come too early.

pub(crate) mod bounds;
pub(crate) mod bucket;
pub(crate) mod element;
pub(crate) mod fields;
pub(crate) mod fit;
pub(crate) mod flattened;
pub(crate) mod generics;
pub(crate) mod indexes;
pub(crate) mod limit;
pub(crate) mod nested;
pub(crate) mod outlier;
pub(crate) mod own_dates;
pub(crate) mod part;
pub(crate) mod reader;
pub(crate) mod reading;
pub(crate) mod rollup;
pub(crate) mod size;
pub(crate) mod spans;
pub(crate) mod type_name;
pub(crate) mod writer;
