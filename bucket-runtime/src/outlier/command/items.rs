//! Reads of the items in a parent's own array, in the form in which its extras are read.

use bucket_core::{
    protocol::{
        query::{Query, WholeRead},
        range::Range,
    },
    schema::names::{ROW_LENGTH, ROW_STATE},
    value::{number::whole_in, unwound::RowFields},
};
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocument, doc};

use super::{ParentScope, array_length};

/// The items of a parent's array that a read asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum OwnItems {
    All,
    /// None if the parent is flagged: then others come first.
    UnlessFlagged,
    /// From a position on, in the order of the query: the number of elements before it.
    From(u64),
}

impl ParentScope {
    /// The items of the parent's array that match, as the extras' pipeline gives items; and behind
    /// them a row without a number, unless a limit cuts it off. Each row has the flag, and the
    /// length of the array.
    ///
    /// The last row is there even if no item matches, so one round trip shows both the items and
    /// the flag, of one moment. Otherwise pushes between two reads might go unseen.
    pub(crate) fn own_items(&self, query: &Query, asked: OwnItems) -> Vec<Document> {
        let (items, count) = (self.extras.spec.items, self.extras.spec.count);
        let mut stages = vec![
            doc! { "$match": self.parent() },
            doc! { "$project": {
                "_id": { "$literal": &self.extras.prefix },
                ROW_STATE: { "$eq": [format!("${}", self.spec.flag), true] },
                ROW_LENGTH: array_length(self.spec.items),
                items: self.numbered_items(query, asked),
            } },
            doc! { "$unwind": format!("${items}") },
        ];
        if !query.filter.is_everything() {
            let is_last = doc! { format!("{items}.n"): { "$exists": false } };
            let matches = query.filter.flat(&format!("{items}.item."));
            stages.push(doc! { "$match": { "$or": [is_last, matches] } });
        }
        if let Some(limit) = query.limit.and_then(|limit| i64::try_from(limit).ok()) {
            stages.push(doc! { "$limit": limit });
        }
        let item = query.fields_at(&format!("${items}.item"));
        stages.push(doc! { "$project": {
            ROW_STATE: 1,
            ROW_LENGTH: 1,
            count: format!("${items}.n"),
            items: [item],
        } });
        stages
    }

    /// A read of the whole parent, for the client to make the rows of
    /// [`own_items`](Self::own_items), without the length of the array, which only a read that
    /// skips items needs; `None` if the server had better unwind.
    pub(crate) fn whole_parent(&self, query: &Query, asked: OwnItems) -> Option<WholeRead> {
        let most = query.whole_items(self.spec.threshold)?;
        query.names.is_none().then_some(())?;
        let (items, count) = (self.extras.spec.items, self.extras.spec.count);
        let is_flagged = doc! { "$eq": [format!("${}", self.spec.flag), true] };
        let array = format!("${}", self.spec.items);
        let array = match asked {
            OwnItems::UnlessFlagged => doc! { "$cond": [&is_flagged, [], array] }.into(),
            _ => Bson::String(array),
        };
        Some(WholeRead {
            filter: self.parent(),
            range: Range::unordered().project(doc! {
                "_id": { "$literal": &self.extras.prefix },
                ROW_STATE: is_flagged,
                items: array,
            }),
            fields: RowFields {
                kept: vec!["_id", ROW_STATE],
                items,
                count,
            },
            newest_first: query.newest_first,
            most: most as usize,
            cut: match asked {
                OwnItems::From(at) => Some((None, at as usize)),
                _ => None,
            },
            has_last_row: true,
        })
    }

    /// The asked elements of the parent's array, each with its number, and an empty document behind
    /// them.
    fn numbered_items(&self, query: &Query, asked: OwnItems) -> Document {
        let array = format!("${}", self.spec.items);
        let length = array_length(self.spec.items);
        let at = match asked {
            OwnItems::From(at) => int(at),
            OwnItems::All | OwnItems::UnlessFlagged if query.newest_first => i32::MAX,
            OwnItems::All | OwnItems::UnlessFlagged => 0,
        };
        let mut numbers = match query.newest_first {
            false => doc! { "$range": [at, length] },
            true => {
                let last = doc! { "$subtract": [{ "$min": [at, length] }, 1] };
                doc! { "$range": [last, -1, -1] }
            }
        };
        if query.filter.is_everything() {
            let limit = query.limit.unwrap_or(u64::MAX);
            numbers = doc! { "$slice": [numbers, int(query.skip), int(limit)] };
        }
        if asked == OwnItems::UnlessFlagged {
            let is_flagged = doc! { "$eq": [format!("${}", self.spec.flag), true] };
            numbers = doc! { "$cond": [is_flagged, [], numbers] };
        }
        let item = doc! { "n": "$$this", "item": { "$arrayElemAt": [array, "$$this"] } };
        let all = doc! { "$map": { "input": numbers, "in": item } };
        doc! { "$concatArrays": [all, [{}]] }
    }

    /// Counts the items of the parent's array that match: one document, with the flag.
    pub(crate) fn count_own_matches(&self, query: &Query) -> Vec<Document> {
        let mut stages = self.own_items(query, OwnItems::All);
        let is_item = doc! { "$isNumber": format!("${}", self.extras.spec.count) };
        stages.push(doc! { "$group": {
            "_id": null,
            "flag": { "$max": format!("${ROW_STATE}") },
            "items": { "$sum": { "$cond": [is_item, 1, 0] } },
        } });
        stages
    }

    /// The only element of a row.
    pub(crate) fn element_in<'r>(&self, row: &'r RawDocument) -> Option<RawBsonRef<'r>> {
        let elements = row.get_array(self.extras.spec.items).ok()?;
        elements.get(0).ok()?
    }

    /// Reads the length of the parent's array in one of its rows.
    pub(crate) fn own_length_in(&self, row: &RawDocument) -> u64 {
        whole_in(row, ROW_LENGTH).unwrap_or(0)
    }

    /// Reads whether a row shows that the parent is flagged.
    pub(crate) fn is_flagged_in(&self, row: &RawDocument) -> bool {
        row.get_bool(ROW_STATE).unwrap_or(false)
    }

    /// Reads the number of elements before an item in a row; `None` of the row behind all items.
    pub(crate) fn number_in(&self, row: &RawDocument) -> Option<u32> {
        u32::try_from(whole_in(row, self.extras.spec.count)?).ok()
    }
}

/// The server counts elements of arrays in 32 bits.
fn int(items: u64) -> i32 {
    i32::try_from(items).unwrap_or(i32::MAX)
}
