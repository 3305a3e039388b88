//! One collection in memory: documents, unique indexes, and single statements.

use std::borrow::Cow;

use bucket_runtime::bson::{Bson, Document, oid::ObjectId};

use crate::{
    filter::{compare, matches, number, value_at},
    pipeline::{self, projected, sort},
    update::{new_document, updated},
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
    /// The document that `findAndModify` has changed.
    pub value: Option<Document>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Store {
    pub(crate) documents: Vec<Document>,
    pub(crate) indexes: Vec<Document>,
    /// Whether unique indexes are not enforced.
    pub(crate) is_lax: bool,
}

impl Store {
    /// Carries out one statement of a command `update`.
    pub(crate) fn update(&mut self, statement: &Document) -> Result<Effect, Refusal> {
        let filter = part(statement, "q");
        let update = part(statement, "u");
        let hint = statement.get_str("hint").ok();
        let found = self.find(filter, hint)?.into_iter().next();
        if let Some(at) = found {
            let before = self.documents[at].clone();
            let after = updated(before.clone(), update, false);
            let modified = i32::from(before != after);
            self.check_unique(&after, Some(at))?;
            self.documents[at] = after;
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

    /// Carries out a command `findAndModify`.
    pub(crate) fn change(&mut self, command: &Document) -> Result<Effect, Refusal> {
        let found = self.find(part(command, "query"), command.get_str("hint").ok())?;
        let Some(at) = found.into_iter().next() else {
            return Ok(Effect::default());
        };
        let pipeline = command.get_array("update").expect("a pipeline");
        let after = pipeline::updated(self.documents[at].clone(), pipeline);
        self.check_unique(&after, Some(at))?;
        self.documents[at] = after.clone();
        Ok(Effect {
            value: Some(after),
            ..Effect::default()
        })
    }

    /// Carries out one statement of a command `delete`.
    pub(crate) fn delete(&mut self, statement: &Document) -> Result<Effect, Refusal> {
        let found = self.find(part(statement, "q"), None)?.into_iter().next();
        found.map(|at| self.documents.remove(at));
        Ok(Effect {
            n: i32::from(found.is_some()),
            ..Effect::default()
        })
    }

    pub(crate) fn insert(&mut self, new: Document) -> Result<Effect, Refusal> {
        self.check_unique(&new, None)?;
        self.documents.push(new);
        Ok(Effect {
            n: 1,
            ..Effect::default()
        })
    }

    /// The results of a command `aggregate`.
    pub(crate) fn aggregate(&self, command: &Document) -> Vec<Document> {
        let pipeline = command.get_array("pipeline").expect("a pipeline");
        pipeline::results(self.documents.clone(), pipeline)
    }

    /// The rows of a command `find`.
    pub(crate) fn read(&self, command: &Document) -> Result<Vec<Document>, Refusal> {
        let filter = part(command, "filter");
        let found = self.find(filter, command.get_str("hint").ok())?;
        let mut found = Vec::from_iter(found.into_iter().map(|at| self.documents[at].clone()));
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
                let index = self
                    .indexes
                    .iter()
                    .find(|it| it.get_str("name") == Ok(name));
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
        let refuse = |name: &str| {
            let text =
                format!("E11000 duplicate key error collection: db.c index: {name} dup key: {{}}");
            Err((11000, text))
        };
        if others().any(|(_, other)| other.get("_id") == new.get("_id")) {
            return refuse("_id_");
        }
        let unique = |index: &&Document| index.get_bool("unique").unwrap_or(false) && !self.is_lax;
        for index in self.indexes.iter().filter(unique) {
            if !holds(index, new) {
                continue;
            }
            let entries = entries(index, new);
            let mut held = others().filter(|(_, other)| holds(index, other));
            if held.any(|(_, other)| {
                self::entries(index, other)
                    .iter()
                    .any(|it| has(&entries, it))
            }) {
                return refuse(index.get_str("name").unwrap_or_default());
            }
        }
        Ok(())
    }
}

fn part<'d>(document: &'d Document, name: &str) -> &'d Document {
    match document.get(name) {
        Some(Bson::Document(part)) => part,
        other => panic!("{name} is {other:?}"),
    }
}

/// Whether a partial index holds the document.
fn holds(index: &Document, document: &Document) -> bool {
    let filter = index.get_document("partialFilterExpression").ok();
    filter.is_none_or(|filter| matches(filter, document))
}

/// The entries of a document: one for each element of an array.
fn entries(index: &Document, document: &Document) -> Vec<Vec<Bson>> {
    let mut entries = vec![Vec::new()];
    for name in part(index, "key").keys() {
        let values = match value_at(document, name).map(Cow::into_owned) {
            None => vec![Bson::Null],
            Some(Bson::Array(values)) => values,
            Some(value) => vec![value],
        };
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

fn has(entries: &[Vec<Bson>], wanted: &[Bson]) -> bool {
    let is_same = |one: &Bson, other: &Bson| compare(one, other).is_some_and(|order| order.is_eq());
    (entries.iter()).any(|entry| {
        entry
            .iter()
            .zip(wanted)
            .all(|(one, other)| is_same(one, other))
    })
}
