//! Aggregation pipelines: exactly the stages that the runtime's commands use.

use std::cmp::Ordering;

use bucket_runtime::bson::{Bson, Document, doc};

use crate::{
    expression::evaluate,
    filter::{compare_any, is_same, matches, number, value_at},
};

/// The results of a pipeline; other collections are looked into by their names.
pub(crate) fn results(
    mut rows: Vec<Document>,
    pipeline: &[Bson],
    mut of: impl FnMut(&str) -> Vec<Document>,
) -> Vec<Document> {
    for (stage, operand) in pipeline.iter().flat_map(stage) {
        rows = match (&**stage, operand) {
            ("$match", Bson::Document(filter)) => {
                rows.retain(|row| matches(filter, row));
                rows
            }
            ("$sort", Bson::Document(order)) => {
                sort(&mut rows, order);
                rows
            }
            ("$skip", skip) => {
                let skip = number(skip).unwrap_or(0) as usize;
                rows.drain(..skip.min(rows.len()));
                rows
            }
            ("$limit", limit) => {
                rows.truncate(number(limit).unwrap_or(0) as usize);
                rows
            }
            ("$set", Bson::Document(fields)) => {
                rows.into_iter().map(|row| set(row, fields)).collect()
            }
            ("$unset", Bson::Array(paths)) => {
                let unset = |row| paths.iter().filter_map(Bson::as_str).fold(row, without);
                rows.into_iter().map(unset).collect()
            }
            ("$replaceWith", operand) => {
                let value = |row| match evaluate(operand, row) {
                    Some(Bson::Document(row)) => row,
                    other => panic!("{other:?} is no document"),
                };
                rows.iter().map(value).collect()
            }
            ("$group", Bson::Document(fields)) => groups(&rows, fields),
            ("$lookup", Bson::Document(lookup)) => {
                let others = of(lookup.get_str("from").expect("a collection"));
                let look_up = |row| looked_up(row, lookup, &others);
                rows.into_iter().map(look_up).collect()
            }
            ("$unwind", operand) => rows.iter().flat_map(|row| unwound(row, operand)).collect(),
            ("$project", Bson::Document(fields)) => {
                rows.iter().map(|row| projected(row, fields)).collect()
            }
            (other, _) => panic!("unknown stage {other}"),
        };
    }
    rows
}

/// The row with those documents of another collection that belong to it.
fn looked_up(mut row: Document, lookup: &Document, others: &[Document]) -> Document {
    let name = |of: &str| lookup.get_str(of).expect("a field");
    let own = row.get(name("localField")).cloned().unwrap_or(Bson::Null);
    let is_of_row = |other: &&Document| {
        let of_other = other.get(name("foreignField"));
        of_other.is_some_and(|of_other| is_same(of_other, &own))
    };
    let found = others.iter().filter(is_of_row).cloned().collect();
    let pipeline = lookup.get_array("pipeline").expect("a pipeline");
    let nested = |from: &str| panic!("a lookup into {from} in another one");
    row.insert(name("as"), results(found, pipeline, nested));
    row
}

/// Documents in the order in which a pipeline reads them: by their ids if it sorts them so, otherwise as they were
/// inserted.
pub(crate) fn scanned(mut documents: Vec<Document>, command: &Document) -> Vec<Document> {
    let stages = command.get_array("pipeline").into_iter().flatten();
    let mut orders = stages.filter_map(|stage| stage.as_document()?.get_document("$sort").ok());
    let is_by_id = |order: &&Document| order.keys().eq(["_id"]);
    if let Some(order) = orders.find(is_by_id) {
        sort(&mut documents, order);
    }
    documents
}

/// A document after the stages of an update.
pub(crate) fn updated(document: Document, pipeline: &[Bson]) -> Document {
    pipeline
        .iter()
        .flat_map(stage)
        .fold(document, |document, (stage, operand)| {
            match (&**stage, operand) {
                ("$set", Bson::Document(fields)) => set(document, fields),
                (other, _) => panic!("unknown stage {other}"),
            }
        })
}

/// Groups with their numbers of rows, and a list.
fn groups(rows: &[Document], fields: &Document) -> Vec<Document> {
    let mut groups: Vec<Document> = Vec::new();
    for row in rows {
        let value = |of: Option<&Bson>| of.and_then(|of| evaluate(of, row));
        let id = value(fields.get("_id")).unwrap_or(Bson::Null);
        let is_same = |group: &Document| group.get("_id") == Some(&id);
        let at = groups.iter().position(is_same).unwrap_or_else(|| {
            groups.push(doc! { "_id": id.clone() });
            groups.len() - 1
        });
        for (name, accumulator) in fields.iter().filter(|(name, _)| *name != "_id") {
            let accumulator = accumulator.as_document().and_then(|it| it.iter().next());
            let before = groups[at].get(name);
            let after = match accumulator {
                Some((operator, of)) if operator == "$sum" => {
                    let by = value(Some(of)).unwrap_or(Bson::Int32(0));
                    match (before.unwrap_or(&Bson::Int32(0)), by) {
                        (Bson::Int32(before), Bson::Int32(by)) => Bson::Int32(before + by),
                        (before, by) => {
                            let numbers = [before, &by].map(|one| number(one).unwrap_or(0));
                            Bson::Int64(numbers.iter().sum())
                        }
                    }
                }
                Some((operator, of)) if operator == "$push" => {
                    let before = before.and_then(Bson::as_array).cloned();
                    before
                        .into_iter()
                        .flatten()
                        .chain(value(Some(of)))
                        .collect()
                }
                Some((operator, of)) if operator == "$addToSet" => {
                    let set = before.and_then(Bson::as_array).cloned();
                    let mut set = set.unwrap_or_default();
                    set.extend(value(Some(of)).filter(|new| !set.contains(new)));
                    set.into()
                }
                other => panic!("unknown accumulator {other:?}"),
            };
            groups[at].insert(name, after);
        }
    }
    groups
}

fn stage(stage: &Bson) -> Option<(&String, &Bson)> {
    stage.as_document()?.iter().next()
}

/// By these fields, which all documents have.
pub(crate) fn sort(rows: &mut [Document], order: &Document) {
    let by = |name: &str, one: &Document, other: &Document| {
        let values = value_at(one, name).zip(value_at(other, name));
        let order = values.and_then(|(one, other)| compare_any(&one, &other));
        order.unwrap_or_else(|| panic!("{name} of {one} and {other}"))
    };
    rows.sort_by(|one, other| {
        let each = order.iter().map(|(name, direction)| match direction {
            Bson::Int32(1) => by(name, one, other),
            Bson::Int32(-1) => by(name, other, one),
            _ => panic!("unknown sort {order}"),
        });
        each.fold(Ordering::Equal, Ordering::then)
    });
}

/// The document without what is at a path.
fn without(mut document: Document, path: &str) -> Document {
    match path.split_once('.') {
        None => drop(document.remove(path)),
        Some((outer, rest)) => {
            if let Ok(inner) = document.get_document_mut(outer) {
                *inner = without(std::mem::take(inner), rest);
            }
        }
    }
    document
}

/// All values are those of the document before the stage.
fn set(document: Document, fields: &Document) -> Document {
    let mut after = document.clone();
    for (name, value) in fields {
        match evaluate(value, &document) {
            Some(value) => drop(after.insert(name, value)),
            None => drop(after.remove(name)),
        }
    }
    after
}

/// A document for each element of an array.
fn unwound(row: &Document, operand: &Bson) -> Vec<Document> {
    let options = operand.as_document();
    let path = options.map_or(operand.as_str(), |options| options.get_str("path").ok());
    let path = path
        .and_then(|path| path.strip_prefix('$'))
        .unwrap_or_default();
    let index = options.and_then(|options| options.get_str("includeArrayIndex").ok());
    let elements = row.get_array(path).into_iter().flatten();
    let one = elements.enumerate().map(|(at, element)| {
        let mut row = row.clone();
        row.insert(path, element.clone());
        row.extend(index.map(|name| (name.to_owned(), Bson::Int64(at as i64))));
        row
    });
    one.collect()
}

/// Those fields that are 1, and those that are computed, in the order that the server gives them; or all but those that
/// are 0.
pub(crate) fn projected(row: &Document, fields: &Document) -> Document {
    if fields.values().all(|value| number(value) == Some(0)) {
        let names = fields.keys().map(String::as_str);
        return names.fold(row.clone(), without);
    }
    let is_shown = |value: &Bson| number(value) == Some(1);
    let hides_id = fields.get("_id").and_then(number) == Some(0);
    let kept = row.iter().filter(|(name, _)| match &***name {
        "_id" => !hides_id,
        name => fields.get(name).is_some_and(is_shown),
    });
    let mut result = Document::from_iter(kept.map(|(name, value)| (name.clone(), value.clone())));
    for (name, value) in fields {
        if !(is_shown(value) || hides_id && name == "_id") {
            result.extend(evaluate(value, row).map(|value| (name.clone(), value)));
        }
    }
    result
}
