//! The server: buckets of one key, and statements that are each carried out at one moment.

use crate::next_step::Answer;

/// An item, by its number in the whole system.
pub(crate) type Item = u8;

/// A bucket's id within its key: a number, or a moment and a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    pub(crate) base: u8,
    pub(crate) suffix: u8,
}

/// A bucket of the one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    pub(crate) id: Id,
    pub(crate) items: Vec<Item>,
    pub(crate) count: u8,
    pub(crate) sealed: bool,
    /// Its place in the order of creation, or of the moments if buckets are named by time.
    pub(crate) nth: u8,
}

/// The rules that the server and the writers follow; a test can switch one off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) capacity: u8,
    /// `bucket_open` is unique.
    pub(crate) unique: bool,
    /// A statement that is sent twice under one number is carried out once.
    pub(crate) remembers: bool,
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
}

/// The statements; those of appends by the names of the functions that build them.
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
    Remove {
        item: Item,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    /// In the order of their ids.
    pub(crate) buckets: Vec<Bucket>,
    /// The number of buckets created so far.
    made: u8,
    /// Whether an item was appended to an empty bucket, of which no change stream could tell.
    pub(crate) is_untold: bool,
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
            | Self::InsertBucket { items, .. } => items,
            Self::Remove { .. } | Self::Seal { .. } => &[],
        }
    }
}

impl Bucket {
    /// Whether the bucket has room and is not sealed.
    pub(crate) fn is_open(&self, rules: &Rules) -> bool {
        !self.sealed && self.count < rules.capacity
    }

    /// Whether the filter of a statement matches the bucket.
    fn takes(&self, items: &[Item], rules: &Rules) -> bool {
        let is_empty = rules.seals_empty && self.items.is_empty();
        let has_room = usize::from(self.count) + items.len() <= usize::from(rules.capacity);
        has_room && !self.sealed && !is_empty
    }

    fn push(&mut self, items: &[Item]) -> Answer {
        self.items.extend_from_slice(items);
        self.count += size(items);
        Answer::Stored
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
            Statement::Remove { item } => self.remove(*item, rules),
        })
    }

    fn append_to_id(&mut self, items: &[Item], id: Id, rules: &Rules) -> Option<Answer> {
        let mut buckets = self.buckets.iter_mut();
        let found = buckets.find(|bucket| bucket.id == id && bucket.takes(items, rules))?;
        self.is_untold |= found.items.is_empty();
        Some(found.push(items))
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
        let mut buckets = self.buckets.iter_mut();
        let takes = |bucket: &&mut Bucket| bucket.is_open(rules) && bucket.takes(items, rules);
        let open = buckets.find(takes)?;
        self.is_untold |= open.items.is_empty();
        Some(open.push(items))
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
    fn remove(&mut self, item: Item, rules: &Rules) -> Answer {
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

fn size(items: &[Item]) -> u8 {
    u8::try_from(items.len()).expect("a handful of items")
}
