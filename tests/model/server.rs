//! The server: buckets of one key, a parent, and statements that are each carried out at one moment.

use crate::{next_step::Answer, properties::ITEMS};

/// An item, by its number in the whole system.
pub(crate) type Item = u8;

/// A bucket's id within its key: a number, or a moment and a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) base: u8,
    pub(crate) suffix: u8,
}

/// A bucket, or an extras document of the one parent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    pub(crate) id: Id,
    pub(crate) items: Vec<Item>,
    pub(crate) count: u8,
    pub(crate) sealed: bool,
    /// Its place in the order of creation, or of the moments if buckets are named by time.
    pub(crate) nth: u8,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Parent {
    pub(crate) items: Vec<Item>,
    pub(crate) flag: bool,
}

/// The rules that the server and the writers follow; a test can switch one off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) capacity: u8,
    pub(crate) threshold: u8,
    /// `bucket_open` is unique.
    pub(crate) unique: bool,
    /// A statement that is sent twice under one number is carried out once.
    pub(crate) remembers: bool,
    /// Writers set a parent's flag before they store the first extra.
    pub(crate) flag_first: bool,
    /// Writers report an interrupted command as in doubt.
    pub(crate) doubts: bool,
    /// With a time, the last of several new buckets is opened before the full ones.
    pub(crate) opens_first: bool,
    /// With numbers, a writer that reads the last bucket sees whether it is open.
    pub(crate) sees_open: bool,
    /// A sealed bucket that a removal has emptied is deleted, as an open one is.
    pub(crate) deletes_emptied: bool,
    /// Nothing is appended to an empty bucket.
    pub(crate) seals_empty: bool,
    /// A statement that is to fill a known bucket is refused if that has more room.
    pub(crate) fills_exactly: bool,
    /// A parent holds at most one item of each identity.
    pub(crate) has_identity: bool,
    /// With identities, the update that flags a parent asks whether its array holds some of the items.
    pub(crate) flag_excludes: bool,
    /// A push to a parent that the handle knows to be an outlier looks whether the parent is there.
    pub(crate) looks: bool,
    /// A flagged parent's array takes nothing, even if a removal has made room.
    pub(crate) flag_closes: bool,
    /// An edit changes an item only as it was read.
    pub(crate) edits_compare: bool,
}

/// The document that holds an item of the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Parent,
    Extras(Id),
}

/// An item as an edit has read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) holder: Holder,
    at: usize,
    pub(crate) item: Item,
    /// How often the item was changed before.
    version: u8,
}

/// The statements, by the names of the functions that build them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Statement {
    AppendOrOpen {
        items: Vec<Item>,
        new_id: Id,
    },
    AppendToOpen {
        items: Vec<Item>,
    },
    AppendToId {
        items: Vec<Item>,
        id: Id,
    },
    AppendToIdOrBeRefused {
        items: Vec<Item>,
        id: Id,
        is_filled: bool,
    },
    /// `insert_bucket`. With a time, a full bucket has an id before that of the open one, which was
    /// inserted first.
    InsertBucket {
        items: Vec<Item>,
        id: Id,
        precedes: Option<Id>,
    },
    Seal {
        id: Id,
    },
    PullExtras {
        item: Item,
    },
    Push {
        items: Vec<Item>,
    },
    /// With identities, only if the parent's array holds none of these items.
    Flag {
        excluded: Vec<Item>,
    },
    RemoveItem(Place),
    ReplaceItem(Place),
    Insert {
        items: Vec<Item>,
        flag: bool,
    },
    Delete,
    DeleteExtras,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    /// In the order of their ids.
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) parent: Option<Parent>,
    /// The number of buckets created so far.
    made: u8,
    /// Whether an item was appended to an empty bucket, of which no change stream could tell.
    pub(crate) is_untold: bool,
    /// How often each item was changed.
    pub(crate) versions: [u8; 3 * ITEMS as usize],
}

impl Statement {
    /// The number of items that the statement carries.
    pub(crate) fn carries(&self) -> usize {
        self.items().len()
    }

    /// The items that the statement carries.
    pub(crate) fn items(&self) -> &[Item] {
        match self {
            Self::AppendOrOpen { items, .. }
            | Self::AppendToOpen { items, .. }
            | Self::AppendToId { items, .. }
            | Self::AppendToIdOrBeRefused { items, .. }
            | Self::InsertBucket { items, .. }
            | Self::Push { items }
            | Self::Insert { items, .. } => items,
            Self::PullExtras { .. }
            | Self::Flag { .. }
            | Self::RemoveItem(_)
            | Self::ReplaceItem(_)
            | Self::Seal { .. }
            | Self::Delete
            | Self::DeleteExtras => &[],
        }
    }
}

impl Bucket {
    /// Whether the bucket has room and is not sealed.
    pub(crate) fn is_open(&self, rules: &Rules) -> bool {
        !self.sealed && self.count < rules.capacity
    }

    /// Whether the filter of a statement matches the bucket, which leaves out one that holds some of the items.
    fn takes(&self, items: &[Item], rules: &Rules) -> bool {
        let is_empty = rules.seals_empty && self.items.is_empty();
        let is_double = rules.has_identity && holds_any(&self.items, items);
        let has_room = usize::from(self.count) + items.len() <= usize::from(rules.capacity);
        has_room && !self.sealed && !is_empty && !is_double
    }

    fn push(&mut self, items: &[Item]) -> Answer {
        self.items.extend_from_slice(items);
        self.count += size(items);
        Answer::Stored
    }
}

impl Parent {
    fn takes(&self, items: &[Item], rules: &Rules) -> bool {
        let is_closed = self.flag && rules.flag_closes;
        let is_double = rules.has_identity && holds_any(&self.items, items);
        !is_closed && !is_double && self.items.len() + items.len() <= rules.threshold.into()
    }
}

impl Server {
    /// A server without buckets but perhaps empty ones: an open one, and one of a later moment that is sealed.
    pub(crate) fn new(has_empty: bool, has_later: bool) -> Self {
        let empty = |base, sealed| Bucket {
            id: Id { base, suffix: 0 },
            items: Vec::new(),
            count: 0,
            sealed,
            nth: base,
        };
        let first = has_empty.then(|| empty(0, false));
        let later = has_later.then(|| empty(2, true));
        Self {
            buckets: first.into_iter().chain(later).collect(),
            made: has_empty.into(),
            ..Self::default()
        }
    }

    /// Changes the document that the statement finds. `None` if an upsert finds none, and is about to
    /// insert one.
    pub(crate) fn update(&mut self, statement: &Statement, rules: &Rules) -> Option<Answer> {
        Some(match statement {
            Statement::AppendOrOpen { items, .. } => return self.append_to_open(items, rules),
            Statement::AppendToOpen { items } => {
                self.append_to_open(items, rules).unwrap_or(Answer::NoMatch)
            }
            Statement::AppendToId { items, id } => return self.append_to_id(items, *id, rules),
            Statement::AppendToIdOrBeRefused {
                items,
                id,
                is_filled,
            } => {
                let has_more_room = |bucket: &Bucket| {
                    bucket.id == *id && bucket.count + size(items) < rules.capacity
                };
                let is_exact = rules.fills_exactly && *is_filled;
                match is_exact && self.buckets.iter().any(has_more_room) {
                    true => Answer::MustNotOpen,
                    false => self
                        .append_to_id(items, *id, rules)
                        .unwrap_or(Answer::MustNotOpen),
                }
            }
            Statement::Seal { id } => {
                let mut buckets = self.buckets.iter_mut();
                match buckets.find(|bucket| bucket.id == *id && bucket.is_open(rules)) {
                    Some(bucket) => {
                        bucket.sealed = true;
                        Answer::Stored
                    }
                    None => Answer::MustNotOpen,
                }
            }
            Statement::InsertBucket { .. } => return None,
            Statement::PullExtras { item } => self.pull(*item, rules),
            Statement::Push { items } => match &mut self.parent {
                Some(parent) if parent.takes(items, rules) => {
                    parent.items.extend_from_slice(items);
                    Answer::Stored
                }
                _ => Answer::NoMatch,
            },
            Statement::RemoveItem(place) => self.change(*place, rules, |items, at| {
                items.remove(at);
            }),
            Statement::ReplaceItem(place) => {
                let changed = self.change(*place, rules, |items, at| items[at] = place.item);
                if changed == Answer::Stored {
                    self.versions[usize::from(place.item)] = place.version + 1;
                }
                changed
            }
            Statement::Flag { excluded } => match &mut self.parent {
                Some(parent)
                    if (parent.flag || parent.items.len() >= rules.threshold.into())
                        && !(rules.flag_excludes && holds_any(&parent.items, excluded)) =>
                {
                    parent.flag = true;
                    Answer::Stored
                }
                _ => Answer::NoMatch,
            },
            Statement::Insert { items, flag } => {
                if self.parent.is_some() {
                    return Some(Answer::IdTaken);
                }
                self.parent = Some(Parent {
                    items: items.clone(),
                    flag: *flag,
                });
                Answer::Stored
            }
            Statement::Delete => match self.parent.take() {
                Some(_) => Answer::Stored,
                None => Answer::NoMatch,
            },
            Statement::DeleteExtras => {
                self.buckets.clear();
                Answer::Stored
            }
        })
    }

    fn append_to_id(&mut self, items: &[Item], id: Id, rules: &Rules) -> Option<Answer> {
        let is_there = self.is_there(items, rules);
        let mut buckets = self.buckets.iter_mut();
        let found = buckets.find(|bucket| bucket.id == id && bucket.takes(items, rules));
        found.map(|bucket| match is_there {
            true => Answer::ItemThere,
            false => {
                self.is_untold |= bucket.items.is_empty();
                bucket.push(items)
            }
        })
    }

    /// Inserts a bucket for an upsert that found none, if both unique indexes allow it.
    pub(crate) fn insert(&mut self, statement: &Statement, rules: &Rules) -> Answer {
        match statement {
            Statement::AppendOrOpen { items, new_id: id } | Statement::AppendToId { items, id } => {
                self.open(items, *id, rules)
            }
            Statement::InsertBucket {
                items,
                id,
                precedes,
            } => {
                let answer = self.open(items, *id, rules);
                if let (Answer::Stored, Some(open)) = (answer, precedes) {
                    self.put_before(*id, *open);
                }
                answer
            }
            _ => Answer::NoMatch,
        }
    }

    /// The open bucket, if there is one.
    pub(crate) fn open_bucket(&self, rules: &Rules) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.is_open(rules))
    }

    /// The last id of a moment.
    pub(crate) fn last_id(&self, moment: u8) -> Option<Id> {
        let mut ids = self.buckets.iter().map(|bucket| bucket.id);
        ids.rfind(|id| id.base == moment)
    }

    /// The last bucket, and whether it is open.
    pub(crate) fn last_bucket(&self, rules: &Rules) -> Option<(&Bucket, bool)> {
        let last = self.buckets.last()?;
        Some((last, last.is_open(rules)))
    }

    fn append_to_open(&mut self, items: &[Item], rules: &Rules) -> Option<Answer> {
        let is_there = self.is_there(items, rules);
        let mut buckets = self.buckets.iter_mut();
        let takes = |bucket: &&mut Bucket| bucket.is_open(rules) && bucket.takes(items, rules);
        let open = buckets.find(takes)?;
        Some(match is_there {
            true => Answer::ItemThere,
            false => {
                self.is_untold |= open.items.is_empty();
                open.push(items)
            }
        })
    }

    /// Whether the unique index of the extras refuses some of these items.
    fn is_there(&self, items: &[Item], rules: &Rules) -> bool {
        let mut buckets = self.buckets.iter();
        rules.has_identity && buckets.any(|bucket| holds_any(&bucket.items, items))
    }

    /// The item with this identity in the parent's array, or the first one in its extras.
    pub(crate) fn find_item(&self, identity: u8, in_extras: bool) -> Option<Place> {
        let place_in = |holder, items: &[Item]| {
            let at = (items.iter()).position(|item| identity_of(*item) == identity)?;
            let item = items[at];
            Some(Place {
                holder,
                at,
                item,
                version: self.versions[usize::from(item)],
            })
        };
        match in_extras {
            false => place_in(Holder::Parent, &self.parent.as_ref()?.items),
            true => (self.buckets.iter())
                .find_map(|bucket| place_in(Holder::Extras(bucket.id), &bucket.items)),
        }
    }

    /// Changes an item if it is still there as it was read. A bucket that was full is sealed if it has room then, and
    /// an open one that would be empty is deleted.
    fn change(
        &mut self,
        place: Place,
        rules: &Rules,
        change: impl Fn(&mut Vec<Item>, usize),
    ) -> Answer {
        let is_current = self.versions[usize::from(place.item)] == place.version;
        let is_unchanged = |items: &[Item]| match rules.edits_compare {
            true => items.get(place.at) == Some(&place.item) && is_current,
            false => place.at < items.len(),
        };
        match place.holder {
            Holder::Parent => {
                let Some(parent) = self.parent.as_mut().filter(|it| is_unchanged(&it.items)) else {
                    return Answer::NoMatch;
                };
                change(&mut parent.items, place.at);
            }
            Holder::Extras(id) => {
                let mut buckets = self.buckets.iter_mut();
                let found = buckets.find(|it| it.id == id && is_unchanged(&it.items));
                let Some(bucket) = found else {
                    return Answer::NoMatch;
                };
                let was_full = bucket.count >= rules.capacity;
                change(&mut bucket.items, place.at);
                bucket.count = size(&bucket.items);
                bucket.sealed |= was_full && bucket.count < rules.capacity;
                self.buckets
                    .retain(|bucket| bucket.sealed || bucket.count > 0);
            }
        }
        Answer::Stored
    }

    fn open(&mut self, items: &[Item], id: Id, rules: &Rules) -> Answer {
        let Err(at) = self.buckets.binary_search_by_key(&id, |bucket| bucket.id) else {
            return Answer::IdTaken;
        };
        let bucket = Bucket {
            id,
            items: items.to_vec(),
            count: size(items),
            sealed: false,
            nth: self.made,
        };
        if rules.unique && bucket.is_open(rules) && self.open_bucket(rules).is_some() {
            return Answer::OtherOpen;
        }
        if self.is_there(items, rules) {
            return Answer::ItemThere;
        }
        self.made += 1;
        self.buckets.insert(at, bucket);
        Answer::Stored
    }

    /// Puts the newest bucket before another one, and those after that one.
    fn put_before(&mut self, id: Id, other: Id) {
        let nth = |id| {
            (self.buckets.iter())
                .find(|bucket: &&Bucket| bucket.id == id)
                .map(|bucket| bucket.nth)
        };
        let Some(place) = nth(other) else {
            return;
        };
        for bucket in &mut self.buckets {
            if bucket.id == id {
                bucket.nth = place;
            } else if bucket.nth >= place {
                bucket.nth += 1;
            }
        }
    }

    /// Removes an item, and seals the bucket if it was full; an open one that would be empty is deleted.
    fn pull(&mut self, item: Item, rules: &Rules) -> Answer {
        let mut buckets = self.buckets.iter_mut();
        let Some(bucket) = buckets.find(|bucket| bucket.items.contains(&item)) else {
            return Answer::NoMatch;
        };
        bucket.sealed |= bucket.count >= rules.capacity;
        bucket.items.retain(|held| *held != item);
        bucket.count = size(&bucket.items);
        let stays = |bucket: &Bucket| bucket.sealed && !rules.deletes_emptied;
        (self.buckets).retain(|bucket| stays(bucket) || !bucket.items.is_empty());
        Answer::Stored
    }
}

/// The identity of an item: every writer has one of each.
pub(crate) fn identity_of(item: Item) -> u8 {
    item % ITEMS
}

/// Whether some of these items have the identity of one that is held.
pub(crate) fn holds_any(held: &[Item], items: &[Item]) -> bool {
    (items.iter()).any(|item| {
        held.iter()
            .any(|other| identity_of(*other) == identity_of(*item))
    })
}

fn size(items: &[Item]) -> u8 {
    u8::try_from(items.len()).expect("a handful of items")
}
