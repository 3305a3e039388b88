//! One collection in memory: documents, unique indexes, and single statements.

use std::sync::Arc;

use bucket_runtime::bson::{Bson, Document, oid::ObjectId};

use crate::{
    filter::{is_same, matches, number, value_at},
    index::{DUPLICATE_KEY, is_hidden},
    pipeline::{self, projected, sort},
    update::{has_operators, new_document, updated},
};

/// A server's refusal: its code and its message.
pub type Refusal = (i32, String);

/// What a statement did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effect {
    /// The documents that it found, inserted or deleted.
    pub n: i32,
    /// Those that it changed.
    pub modified: i32,
    /// The id of a document that an upsert inserted.
    pub upserted: Option<Bson>,
    /// The document that `findAndModify` has changed or removed.
    pub value: Option<Document>,
}

/// A place in a unique index, or that of an id.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub(crate) collection: &'static str,
    /// The index's name.
    pub(crate) index: String,
    pub(crate) entry: Vec<Bson>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    pub(crate) documents: Vec<Arc<Document>>,
    pub(crate) indexes: Vec<Document>,
    /// The names of those indexes that are being built.
    pub(crate) building: Vec<String>,
    /// Whether unique indexes are not enforced.
    pub(crate) is_lax: bool,
}

impl Store {
    /// Carries out one statement of a command `update`.
    pub(crate) fn update(&mut self, statement: &Document) -> Result<Effect, Refusal> {
        let filter = part(statement, "q");
        let hint = statement.get_str("hint").ok();
        let mut found = self.find(filter, hint)?;
        if let Ok(pipeline) = statement.get_array("u") {
            return self.update_by(pipeline, &found);
        }
        let update = part(statement, "u");
        found.truncate(1);
        if let Some(at) = found.pop() {
            let before = &*self.documents[at];
            let after = match has_operators(update) {
                true => updated(before.clone(), update, false),
                false => replacement(before, update),
            };
            let modified = i32::from(*before != after);
            self.check_unique(&after, Some(at))?;
            self.documents[at] = after.into();
            return Ok(Effect {
                n: 1,
                modified,
                ..Effect::default()
            });
        }
        if !statement.get_bool("upsert").unwrap_or(false) {
            return Ok(Effect::default());
        }
        let begun = new_document(filter);
        let mut new = updated(begun.clone(), update, true);
        if begun
            .get("_id")
            .is_some_and(|id| new.get("_id") != Some(id))
        {
            let text =
                "Performing an update on the path '_id' would modify the immutable field '_id'";
            return Err((66, text.to_owned()));
        }
        if matches!(new.get("_id"), Some(Bson::Array(_))) {
            return Err((53, "The '_id' value cannot be of type array".to_owned()));
        }
        let id = new
            .entry("_id".to_owned())
            .or_insert_with(|| ObjectId::new().into())
            .clone();
        self.insert(new)?;
        Ok(Effect {
            n: 1,
            upserted: Some(id),
            ..Effect::default()
        })
    }

    /// Carries out an update of many documents by a pipeline.
    fn update_by(&mut self, pipeline: &[Bson], found: &[usize]) -> Result<Effect, Refusal> {
        let mut effect = Effect::default();
        for &at in found {
            let before = &*self.documents[at];
            let after = pipeline::updated(before.clone(), pipeline);
            self.check_unique(&after, Some(at))?;
            effect.n += 1;
            effect.modified += i32::from(*before != after);
            self.documents[at] = after.into();
        }
        Ok(effect)
    }

    /// Carries out a command `findAndModify`.
    pub(crate) fn change(&mut self, command: &Document) -> Result<Effect, Refusal> {
        let found = self.find(part(command, "query"), command.get_str("hint").ok())?;
        let Some(at) = found.into_iter().next() else {
            return Ok(Effect::default());
        };
        if command.contains_key("remove") {
            let value = Some(Document::clone(&self.documents.remove(at)));
            return Ok(Effect {
                value,
                ..Effect::default()
            });
        }
        let pipeline = command.get_array("update").expect("a pipeline");
        let after = pipeline::updated((*self.documents[at]).clone(), pipeline);
        self.check_unique(&after, Some(at))?;
        self.documents[at] = after.clone().into();
        Ok(Effect {
            value: Some(after),
            ..Effect::default()
        })
    }

    /// Carries out one statement of a command `delete`.
    pub(crate) fn delete(&mut self, statement: &Document) -> Result<Effect, Refusal> {
        let mut found = self.find(part(statement, "q"), None)?;
        if statement.get("limit").and_then(number) == Some(1) {
            found.truncate(1);
        }
        for at in found.iter().rev() {
            self.documents.remove(*at);
        }
        Ok(Effect {
            n: found.len() as i32,
            ..Effect::default()
        })
    }

    pub(crate) fn insert(&mut self, new: Document) -> Result<Effect, Refusal> {
        self.check_unique(&new, None)?;
        let id = new.get("_id").map(|id| ("_id".to_owned(), id.clone()));
        // The server stores the id first.
        self.documents
            .push(Arc::new(id.into_iter().chain(new).collect()));
        Ok(Effect {
            n: 1,
            ..Effect::default()
        })
    }

    /// All documents.
    pub(crate) fn all(&self) -> Vec<Document> {
        let all = self.documents.iter();
        all.map(|document| (**document).clone()).collect()
    }

    /// The rows of a command `find`.
    pub(crate) fn read(&self, command: &Document) -> Result<Vec<Document>, Refusal> {
        let filter = part(command, "filter");
        let found = self.find(filter, command.get_str("hint").ok())?;
        let mut found = Vec::from_iter(found.into_iter().map(|at| (*self.documents[at]).clone()));
        if let Ok(order) = command.get_document("sort") {
            sort(&mut found, order);
        }
        let limit = command.get("limit").and_then(number);
        found.truncate(limit.map_or(usize::MAX, |limit| limit.unsigned_abs() as usize));
        if let Ok(fields) = command.get_document("projection") {
            found
                .iter_mut()
                .for_each(|document| *document = projected(document, fields));
        }
        Ok(found)
    }

    /// The places of the documents that match, by the index of this name. A partial index holds no others.
    pub(crate) fn find(
        &self,
        filter: &Document,
        hint: Option<&str>,
    ) -> Result<Vec<usize>, Refusal> {
        let index = match hint {
            None | Some("_id_") => None,
            Some(name) => {
                let mut built = self.built_indexes();
                let is_it = |it: &&Document| it.get_str("name") == Ok(name) && !is_hidden(it);
                let index = built.find(is_it);
                let missing = "hint provided does not correspond to an existing index";
                Some(index.ok_or((2, missing.to_owned()))?)
            }
        };
        let is_held = |document: &Document| index.is_none_or(|index| holds(index, document));
        let all = self.documents.iter().enumerate();
        Ok(all
            .filter(|(_, document)| is_held(document) && matches(filter, document))
            .map(|(at, _)| at)
            .collect())
    }

    fn check_unique(&self, new: &Document, at: Option<usize>) -> Result<(), Refusal> {
        let others = || (self.documents.iter().enumerate()).filter(|(other, _)| Some(*other) != at);
        if others().any(|(_, other)| other.get("_id") == new.get("_id")) {
            return Err(duplicate("_id_"));
        }
        for index in self.built_indexes().filter(|index| self.is_enforced(index)) {
            if holds(index, new) && others().any(|(_, other)| share_entry(index, new, other)) {
                return Err(duplicate(index.get_str("name").unwrap_or_default()));
            }
        }
        Ok(())
    }

    /// Whether an index refuses a second entry.
    pub(crate) fn is_enforced(&self, index: &Document) -> bool {
        index.get_bool("unique").unwrap_or(false) && !self.is_lax
    }

    pub(crate) fn built_indexes(&self) -> impl Iterator<Item = &Document> {
        let is_built = |index: &&Document| {
            let name = index.get_str("name").unwrap_or_default();
            !self.building.iter().any(|building| building == name)
        };
        self.indexes.iter().filter(is_built)
    }
}

/// The refusal of a second entry in an index.
pub(crate) fn duplicate(index: &str) -> Refusal {
    let text = format!("E11000 duplicate key error collection: db.c index: {index} dup key: {{}}");
    (DUPLICATE_KEY, text)
}

/// The document in place of another one, whose id it keeps.
fn replacement(before: &Document, new: &Document) -> Document {
    let id = (before.iter()).filter(|(name, _)| *name == "_id");
    let others = new.iter().filter(|(name, _)| *name != "_id");
    let fields = id.chain(others);
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

pub(crate) fn part<'d>(document: &'d Document, name: &str) -> &'d Document {
    match document.get(name) {
        Some(Bson::Document(part)) => part,
        other => panic!("{name} is {other:?}"),
    }
}

/// Whether a partial index holds the document.
pub(crate) fn holds(index: &Document, document: &Document) -> bool {
    let filter = index.get_document("partialFilterExpression").ok();
    filter.is_none_or(|filter| matches(filter, document))
}

/// Whether two documents, the first of which the index holds, have an entry in common: a value of each field. Only one
/// field is an array.
pub(crate) fn share_entry(index: &Document, one: &Document, other: &Document) -> bool {
    let share = |name: &String| {
        let [one, other] = [one, other].map(|document| value_at(document, name));
        let [one, other] = [&one, &other].map(|value| values(value.as_deref()));
        one.iter()
            .any(|one| other.iter().any(|other| is_same(one, other)))
    };
    part(index, "key").keys().all(share) && holds(index, other)
}

/// The values of a field in an index.
fn values(value: Option<&Bson>) -> &[Bson] {
    match value {
        None => &[Bson::Null],
        Some(Bson::Array(values)) => values,
        Some(value) => std::slice::from_ref(value),
    }
}

/// The entries of a document: one for each element of an array, and none if the index does not hold it.
pub(crate) fn entries(index: &Document, document: &Document) -> Vec<Vec<Bson>> {
    match holds(index, document) {
        true => all_entries(index, document),
        false => Vec::new(),
    }
}

/// The entries that a document would have if the index held it.
pub(crate) fn all_entries(index: &Document, document: &Document) -> Vec<Vec<Bson>> {
    let mut entries = vec![Vec::new()];
    for name in part(index, "key").keys() {
        let value = value_at(document, name);
        let values = values(value.as_deref());
        let with = |entry: &Vec<Bson>| {
            let entry = entry.clone();
            values
                .iter()
                .map(move |value| [entry.clone(), vec![value.clone()]].concat())
                .collect::<Vec<_>>()
        };
        entries = entries.iter().flat_map(with).collect();
    }
    entries
}

pub(crate) fn has(entries: &[Vec<Bson>], wanted: &[Bson]) -> bool {
    (entries.iter()).any(|entry| {
        entry
            .iter()
            .zip(wanted)
            .all(|(one, other)| is_same(one, other))
    })
}
