//! A position between the items of a bucket, which is found again after appends, removals and
//! changes.
//!
//! A token is such a position: the bucket's id, the number of elements before it, and the
//! fingerprints of up to eight elements that the read gave last. An append adds behind all items,
//! and nothing else adds any, so the position is beside whichever of these still stands.
//!
//! A read of all items takes whole buckets, and the client cuts the first; with a filter or a limit
//! it takes single items (`read/items/rows.rs`). Both keep the bytes of what they gave last, and
//! hash them only when they are asked for a token. A read of single items from a token assumes that
//! nothing before the place was removed, and asks for the nearest of those elements as well; if
//! that is another one now, it reads the place's bucket and looks.

use super::Query;

/// The maximum number of neighbours that a position remembers: it is found again unless all of them
/// are gone.
pub const MAX_NEIGHBOURS: usize = 8;

/// A position between the items of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemPosition {
    /// The bucket's id.
    pub bucket: String,
    /// The number of elements before it.
    pub before: u32,
    /// On which side the neighbours are.
    pub side: NeighbourSide,
    /// The fingerprints of the elements next to it that the read gave, or would have given, the
    /// nearest first.
    pub neighbours: Vec<u32>,
}

/// The place of a query's first item, which another read found.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryStart {
    /// The bucket that holds the first item.
    pub id: String,
    /// The number of buckets that hold all requested items, if known.
    pub buckets: Option<u64>,
    /// The position in this bucket to start from, as the number of elements before it, matching or
    /// not.
    pub at: Option<u64>,
}

impl QueryStart {
    /// A start at the first of a bucket's items, in the order of the query.
    pub fn of_bucket(id: String) -> Self {
        Self {
            id,
            buckets: None,
            at: None,
        }
    }
}

/// A side of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NeighbourSide {
    Before,
    After,
}

impl NeighbourSide {
    /// The side of the items that a read has given.
    pub fn of_given(newest_first: bool) -> Self {
        match newest_first {
            true => Self::After,
            false => Self::Before,
        }
    }
}

impl ItemPosition {
    /// The nearest neighbour: how many elements were before it, and its fingerprint.
    pub fn neighbour(&self) -> Option<(u32, u32)> {
        let number = match self.side {
            NeighbourSide::Before => self.before.checked_sub(1)?,
            NeighbourSide::After => self.before,
        };
        Some((number, *self.neighbours.first()?))
    }

    /// Finds this position among the elements that the bucket has now, each given as the number of
    /// elements before it and its fingerprint.
    ///
    /// Of equal elements it takes the one whose number is nearest. If no neighbour is left, a read
    /// in the order of ids starts with the bucket's first element, and may give some again; a read
    /// in reverse starts where the position was, since removals only move items towards the front.
    pub fn find_among(&self, elements: &[(u32, u32)], newest_first: bool) -> Self {
        let Some((number, _)) = self.neighbour() else {
            return self.clone();
        };
        for (nearer, neighbour) in self.neighbours.iter().enumerate() {
            let equal = elements.iter().filter(|(_, element)| element == neighbour);
            let numbers = equal.map(|(number, _)| *number);
            if let Some(now) = numbers.min_by_key(|now| (now.abs_diff(number), *now)) {
                return Self {
                    before: match self.side {
                        NeighbourSide::Before => now + 1,
                        NeighbourSide::After => now,
                    },
                    neighbours: self.neighbours[nearer..].to_vec(),
                    ..self.clone()
                };
            }
        }
        Self {
            before: if newest_first { self.before } else { 0 },
            neighbours: Vec::new(),
            ..self.clone()
        }
    }

    /// Adds the farther neighbours of an earlier position, if its nearest one is this position's
    /// farthest.
    pub fn with_farther_of(mut self, earlier: Option<&Self>) -> Self {
        if let Some(earlier) = earlier
            && earlier.bucket == self.bucket
            && earlier.side == self.side
            && self.neighbours.last() == earlier.neighbours.first()
        {
            self.neighbours.extend(earlier.neighbours.iter().skip(1));
            self.neighbours.truncate(MAX_NEIGHBOURS);
        }
        self
    }

    /// Where a query for single items starts, so that the nearest neighbour comes first; without a
    /// neighbour, right at the position.
    pub fn start(&self, newest_first: bool) -> QueryStart {
        let at = match self.neighbour() {
            None => self.before,
            Some((number, _)) if newest_first => number.saturating_add(1),
            Some((number, _)) => number,
        };
        QueryStart {
            at: Some(at.into()),
            ..QueryStart::of_bucket(self.bucket.clone())
        }
    }

    /// Whether the nearest neighbour is one of the items that the read before gave.
    pub fn is_given(&self, newest_first: bool) -> bool {
        self.neighbour().is_some() && self.side == NeighbourSide::of_given(newest_first)
    }
}

impl Query {
    /// The query for the server that goes on at a position: the server also sends the given
    /// neighbour and the skipped items.
    pub fn resumed_at(&self, position: &ItemPosition) -> Self {
        let given = u64::from(position.is_given(self.newest_first));
        let more = given.saturating_add(self.skip);
        Self {
            skip: 0,
            limit: self.limit.map(|limit| limit.saturating_add(more)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The elements with their numbers.
    fn numbered(elements: &[u32]) -> Vec<(u32, u32)> {
        (0..).zip(elements.iter().copied()).collect()
    }

    fn position(elements: &[u32], before: usize, side: NeighbourSide) -> ItemPosition {
        let neighbours = match side {
            NeighbourSide::Before => Vec::from_iter(elements[..before].iter().rev().copied()),
            NeighbourSide::After => elements[before..].to_vec(),
        };
        ItemPosition {
            bucket: "1_0000000000".to_owned(),
            before: before as u32,
            side,
            neighbours: neighbours.into_iter().take(MAX_NEIGHBOURS).collect(),
        }
    }

    const BUCKET: &str = "1_0000000000";

    #[test]
    fn a_query_starts_so_that_the_nearest_neighbour_comes_first() {
        let start = |side, newest_first| position(&[5, 6, 7], 2, side).start(newest_first);
        let at = |at| QueryStart {
            at: Some(at),
            ..QueryStart::of_bucket(BUCKET.to_owned())
        };
        // The second element is before the position, and the third one after it.
        assert_eq!(start(NeighbourSide::Before, false), at(1));
        assert_eq!(start(NeighbourSide::Before, true), at(2));
        assert_eq!(start(NeighbourSide::After, false), at(2));
        assert_eq!(start(NeighbourSide::After, true), at(3));
        let without = ItemPosition {
            neighbours: vec![],
            ..position(&[5, 6, 7], 2, NeighbourSide::After)
        };
        assert_eq!((without.start(false), without.start(true)), (at(2), at(2)));
    }

    #[test]
    fn the_server_sends_a_given_neighbour_once_more() {
        let query = |newest_first| Query {
            newest_first,
            skip: 3,
            limit: Some(10),
            ..Query::everything()
        };
        let resumed = |side, newest_first| {
            let resumed = query(newest_first).resumed_at(&position(&[5, 6, 7], 2, side));
            (resumed.skip, resumed.limit)
        };
        assert_eq!(resumed(NeighbourSide::Before, false), (0, Some(14)));
        assert_eq!(resumed(NeighbourSide::Before, true), (0, Some(13)));
        assert_eq!(resumed(NeighbourSide::After, true), (0, Some(14)));
        assert_eq!(resumed(NeighbourSide::After, false), (0, Some(13)));
        let none = ItemPosition {
            neighbours: vec![],
            ..position(&[5], 1, NeighbourSide::Before)
        };
        assert_eq!(query(false).resumed_at(&none).limit, Some(13));
    }

    #[test]
    fn farther_neighbours_are_those_of_an_adjoining_position() {
        let near = ItemPosition {
            neighbours: vec![9, 8],
            ..position(&[], 0, NeighbourSide::Before)
        };
        let far = || ItemPosition {
            neighbours: Vec::from_iter((0..=8).rev()),
            ..near.clone()
        };
        let joined = near.clone().with_farther_of(Some(&far()));
        assert_eq!(joined.neighbours, [9, 8, 7, 6, 5, 4, 3, 2]);
        for other in [
            ItemPosition {
                bucket: "1_0000000001".to_owned(),
                ..far()
            },
            ItemPosition {
                side: NeighbourSide::After,
                ..far()
            },
            ItemPosition {
                neighbours: vec![7, 6],
                ..far()
            },
        ] {
            assert_eq!(near.clone().with_farther_of(Some(&other)), near);
        }
        assert_eq!(near.clone().with_farther_of(None), near);
    }

    #[test]
    fn a_position_whose_neighbours_are_gone_is_where_nothing_is_left_out() {
        let position = position(&[5, 6, 7], 2, NeighbourSide::Before);
        let found = |newest_first| position.find_among(&numbered(&[7]), newest_first);
        let at = |before| ItemPosition {
            before,
            neighbours: vec![],
            ..position.clone()
        };
        assert_eq!((found(false), found(true)), (at(0), at(2)));
    }

    proptest! {
        #[test]
        fn a_position_is_found_again_unless_all_neighbours_are_gone(
            (elements, gone, before) in (1..30_usize).prop_flat_map(|size| (
                Just(Vec::from_iter(0..size as u32)),
                proptest::collection::vec(proptest::bool::weighted(0.4), size),
                0..=size,
            )),
            appended in 0..5_u32,
            is_after: bool,
            newest_first: bool,
        ) {
            let side = if is_after { NeighbourSide::After } else { NeighbourSide::Before };
            let position = position(&elements, before, side);
            let left = |part: &[u32]| Vec::from_iter(
                part.iter().copied().filter(|element| !gone[*element as usize]));
            let mut now = left(&elements);
            now.extend((0..appended).map(|n| 1000 + n));
            let found = position.find_among(&numbered(&now), newest_first);
            let survives = position.neighbours.iter().any(|neighbour| now.contains(neighbour));
            let exact = left(&elements[..before]).len();
            if survives {
                prop_assert_eq!(found.before as usize, exact);
                let (number, neighbour) = found.neighbour().unwrap();
                prop_assert_eq!(now[number as usize], neighbour);
            } else if !position.neighbours.is_empty() {
                // Nothing is left out.
                match newest_first {
                    false => prop_assert!(found.before as usize <= exact),
                    true => prop_assert!(found.before as usize >= exact),
                }
            }
        }

        #[test]
        fn equal_elements_are_told_apart_by_their_numbers(
            elements in proptest::collection::vec(0..3_u32, 0..40),
            before in 0..40_usize,
            is_after: bool,
        ) {
            let side = if is_after { NeighbourSide::After } else { NeighbourSide::Before };
            let position = position(&elements, before.min(elements.len()), side);
            prop_assert_eq!(&position.find_among(&numbered(&elements), false), &position);
        }
    }
}
