//! The shape of documents: which fields they have, and which values these hold.

pub(super) mod value;

use std::collections::HashMap;

use bucket_runtime::bson::{RawBsonRef, RawDocument};

use self::value::ValueShape;

/// Further names are only counted: this many fields are data, not a struct.
const MAX_FIELDS: usize = 1000;

/// The number of fields at the top whose distinct values are counted; any of them may be the key.
const COUNTED_FIELDS: usize = 64;

/// A document with more fields, most of which it lacks, is a map: its names are data.
const MAX_IN_STRUCT: usize = 40;

/// A field, by its stored name.
#[derive(Debug)]
pub(super) struct FieldShape {
    pub(super) name: String,
    pub(super) value: ValueShape,
}

/// The fields of documents, in the order in which they first came.
#[derive(Debug, Default)]
pub(super) struct DocumentShape {
    /// How many documents there were.
    pub(super) documents: u64,
    pub(super) fields: Vec<FieldShape>,
    /// Whether there are fields that are not listed.
    pub(super) is_cut: bool,
    places: HashMap<String, usize>,
}

impl DocumentShape {
    /// Adds a document of the collection.
    pub(super) fn add(&mut self, document: &RawDocument) {
        self.add_at(document, 0);
    }

    /// Adds a document that stands `depth` levels below the top.
    fn add_at(&mut self, document: &RawDocument, depth: usize) {
        self.documents += 1;
        for (at, (name, value)) in fields(document).enumerate() {
            let place = match self.place(at, name) {
                Some(place) => place,
                None if self.fields.len() == MAX_FIELDS => {
                    self.is_cut = true;
                    continue;
                }
                None => self.begin(name),
            };
            let shape = &mut self.fields[place].value;
            shape.add(value, depth);
            if depth == 0 && place < COUNTED_FIELDS {
                shape.count_distinct(value);
            }
        }
    }

    /// The place of a field that is the document's field number `at`, which is the same in most
    /// documents.
    fn place(&self, at: usize, name: &str) -> Option<usize> {
        let is_here = self.fields.get(at).is_some_and(|field| field.name == name);
        match is_here {
            true => Some(at),
            false => self.places.get(name).copied(),
        }
    }

    fn begin(&mut self, name: &str) -> usize {
        self.fields.push(FieldShape {
            name: name.to_owned(),
            value: ValueShape::default(),
        });
        self.places.insert(name.to_owned(), self.fields.len() - 1);
        self.fields.len() - 1
    }

    /// The values of a field.
    pub(super) fn get(&self, name: &str) -> Option<&ValueShape> {
        let place = self.places.get(name)?;
        Some(&self.fields[*place].value)
    }

    /// Whether every document has the field, and it is never null.
    pub(super) fn is_always(&self, value: &ValueShape) -> bool {
        value.present() == self.documents
    }

    /// Whether no struct can have these fields: their names are data, or have another meaning.
    pub(super) fn is_map(&self) -> bool {
        let is_sparse = |field: &&FieldShape| field.value.seen * 2 < self.documents;
        let sparse = self.fields.iter().filter(is_sparse).count();
        let has_many = self.fields.len() > MAX_IN_STRUCT && sparse * 2 > self.fields.len();
        let has_odd = self.fields.iter().any(|field| is_odd(&field.name));
        has_many || has_odd || self.is_cut || self.fields.is_empty()
    }

    /// The average size of a document in bytes.
    pub(super) fn average_bytes(&self) -> u64 {
        let bytes: u64 = self.fields.iter().map(FieldShape::bytes).sum();
        bytes / self.documents.max(1) + 5
    }
}

/// The fields of a document, up to the first one that cannot be read.
pub(super) fn fields(document: &RawDocument) -> impl Iterator<Item = (&str, RawBsonRef<'_>)> {
    let fields = document.iter().map_while(Result::ok);
    #[allow(clippy::useless_asref, reason = "with bson 3 the name is not a `str`")]
    fields.map(|(name, value)| (name.as_ref(), value))
}

/// Whether a name cannot be that of a field: it is empty, or has a meaning of its own in updates
/// and paths.
pub(super) fn is_odd(name: &str) -> bool {
    name.is_empty() || name.starts_with('$') || name.contains('.')
}

impl FieldShape {
    /// The bytes of all values of the field, with its name.
    pub(super) fn bytes(&self) -> u64 {
        self.value.bytes + self.value.seen * (self.name.len() as u64 + 2)
    }
}
