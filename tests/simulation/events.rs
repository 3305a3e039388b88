//! The events of change streams, which show what a majority has.

use std::sync::Arc;

use bucket_runtime::bson::{Bson, Document, doc};

use crate::{
    filter::matches,
    world::{State, World},
};

impl State {
    /// Notes the events of all that differs from an earlier state.
    pub(crate) fn note_events(&mut self, before: &Self) {
        let both = self.stores().into_iter().zip(before.stores());
        let events = both.flat_map(|((name, store), (_, before))| {
            let changes = store.changes(before).into_iter();
            changes.map(move |[before, after]| Arc::new(event(name, before, after)))
        });
        let events = Vec::from_iter(events);
        self.events.extend(events);
    }
}

impl World {
    /// The events after a position that match, and the position after them.
    pub(crate) fn events(&self, command: &Document) -> Document {
        let events = &self.majority.events;
        let after = command.get_document("after").ok();
        let after = after.map_or(events.len(), |token| {
            let text = token.get_str("_data").expect("a token");
            usize::from_str_radix(text, 16).expect("a token")
        });
        let filter = command.get_document("filter").expect("a filter");
        let later = events.iter().enumerate().skip(after);
        let wanted = later.filter(|(_, event)| matches(filter, event));
        let rows = wanted.map(|(at, event)| {
            let mut event = Document::clone(event);
            event.insert("_id", token(at + 1));
            event
        });
        doc! { "rows": Vec::from_iter(rows), "token": token(events.len()) }
    }
}

/// The position after so many events.
fn token(events: usize) -> Document {
    doc! { "_data": format!("{events:08X}") }
}

/// The event of a document that was as the first, and is as the second.
fn event(
    collection: &str,
    before: Option<&Arc<Document>>,
    after: Option<&Arc<Document>>,
) -> Document {
    let id = before.or(after).and_then(|document| document.get("_id"));
    let mut event = doc! {
        "ns": { "db": "db", "coll": collection },
        "documentKey": { "_id": id },
    };
    match (before, after) {
        (Some(before), Some(after)) => {
            event.insert("operationType", "update");
            event.insert("updateDescription", description(before, after));
        }
        (_, Some(after)) => {
            event.insert("operationType", "insert");
            event.insert("fullDocument", Document::clone(after));
        }
        _ => drop(event.insert("operationType", "delete")),
    }
    event
}

fn description(before: &Document, after: &Document) -> Document {
    let is_removed = |name: &&String| !after.contains_key(*name);
    let removed = before.keys().filter(is_removed).cloned();
    let mut updated = Document::new();
    for (name, value) in after {
        match (before.get(name), value) {
            (Some(before), _) if before == value => {}
            // What is appended to an array that has elements.
            (Some(Bson::Array(before)), Bson::Array(after))
                if !before.is_empty() && after.starts_with(before) =>
            {
                let further = after.iter().enumerate().skip(before.len());
                updated.extend(further.map(|(at, item)| (format!("{name}.{at}"), item.clone())));
            }
            _ => drop(updated.insert(name, value.clone())),
        }
    }
    doc! { "updatedFields": updated, "removedFields": Vec::from_iter(removed) }
}
