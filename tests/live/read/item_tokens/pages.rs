//! Pages of items, and the tokens of their ends.

use bucket_runtime::{
    Bucket, Filter,
    mongodb::bson::{Document, doc},
};
use futures_util::TryStreamExt;

use super::{Color, Line, Numbers, in_order, numbers};
use crate::support::database::{Live, Recorded, is_cluster, number};

#[bucket_testkit::test]
async fn pages_of_items_lead_through_a_list_and_back(db: Live) {
    let lines = numbers(&db, 50).await;
    for (filter, limit) in [
        (Filter::default(), 7),
        (Numbers::colored(1), 4),
        (Numbers::colored(1), 17),
        (Numbers::colored(1), 100),
        (Numbers::colored(9), 4),
    ] {
        for newest_first in [false, true] {
            let list = || in_order(lines.items(&1).filter(filter.clone()), newest_first);
            let all: Vec<Numbers> = list().await.unwrap().try_collect().await.unwrap();
            let expected = Vec::from_iter(all.chunks(limit as usize));

            let mut page = list().page_of_items(limit).await.unwrap();
            assert_eq!(page.previous, None);
            let mut pages = vec![page.items.clone()];
            while let Some(next) = page.next {
                page = list().page_of_items(limit).after(&next).await.unwrap();
                let same = list().after(&next).page_of_items(limit);
                assert_eq!(same.await.unwrap(), page);
                pages.push(page.items.clone());
            }
            // A list of nothing has one page.
            let expected = if all.is_empty() {
                vec![&[][..]]
            } else {
                expected
            };
            assert_eq!(pages, expected);

            let mut back = vec![page.items.clone()];
            while let Some(previous) = page.previous {
                page = list().page_of_items(limit).before(&previous).await.unwrap();
                assert!(page.next.is_some());
                back.insert(0, page.items.clone());
            }
            assert_eq!(back, pages);
        }
    }
}

#[bucket_testkit::test]
async fn a_page_stays_between_its_neighbours_while_items_come_and_go(db: Live) {
    let lines = numbers(&db, 40).await;
    let page = |items| lines.items(&1).page_of_items(items);
    let numbers = |lines: &[Numbers]| Vec::from_iter(lines.iter().map(Line::n));
    let first = page(10).await.unwrap().next.unwrap();
    let second = page(10).after(&first).await.unwrap();
    // The end of the first page, and the beginning of the second one.
    Numbers::remove(&lines, 1, vec![3, 8, 9, 10, 11]).await;
    lines.append(&Numbers::new(1, 40, 0)).await.unwrap();

    let again = page(10).after(&first).await.unwrap();
    assert_eq!(numbers(&again.items), Vec::from_iter(12..22));
    let back = page(10).before(&second.previous.unwrap()).await.unwrap();
    assert_eq!(numbers(&back.items), [0, 1, 2, 4, 5, 6, 7]);
    assert_eq!((back.previous, back.next.is_some()), (None, true));

    // Behind the last item there is nothing, until one is appended.
    assert_eq!(page(100).await.unwrap().next, None);
    let mut stream = lines.items(&1).await.unwrap();
    while stream.try_next().await.unwrap().is_some() {}
    let end = stream.token().unwrap();
    // A page of no items would be beside itself.
    let one = page(0).await.unwrap();
    assert_eq!(numbers(&one.items), [0]);
    let next = page(0).after(&one.next.unwrap()).await.unwrap();
    assert_eq!(numbers(&next.items), [1]);
    let nothing = page(5).after(&end).await.unwrap();
    assert_eq!((nothing.items, nothing.next), (vec![], None));
    assert_eq!(nothing.previous, Some(end.clone()));
    lines.append(&Numbers::new(1, 41, 0)).await.unwrap();
    let new = page(5).after(&end).await.unwrap();
    assert_eq!(numbers(&new.items), [41]);
}

#[bucket_testkit::test]
async fn g4_a_token_of_another_list_is_refused(db: Live) {
    let lines = numbers(&db, 30).await;
    lines.append(&Numbers::new(12, 0, 1)).await.unwrap();
    let other = Numbers::buckets_in(db.collection::<Document>("others"));
    let other = other.await.unwrap();
    let mut stream = lines.items(&1).filter(Numbers::colored(1)).await.unwrap();
    assert_eq!(stream.token(), None);
    stream.try_next().await.unwrap();
    let token = stream.token().unwrap();
    let colored = || Numbers::colored(1);

    let it = lines.items(&1).filter(colored()).after(&token).await;
    assert!(it.is_ok());
    for other in [
        lines.items(&12).filter(colored()),
        lines.items(&1),
        lines.items(&1).filter(Numbers::colored(2)),
        lines.items(&1).filter(colored().or(Numbers::colored(2))),
        lines.all_items().filter(colored()),
        other.items(&1).filter(colored()),
    ] {
        let error = other.after(&token).limit(5).await.err().unwrap();
        assert!(error.is_token_mismatch(), "{error}");
        let text = error.to_string();
        assert!(text.contains("start without a token"), "{text}");
    }
    let parts = lines.items(&1).filter(colored()).after(&token);
    let parts = parts.parts::<Color>();
    assert!(parts.await.err().unwrap().is_token_mismatch());
    let page = lines.items(&1).page_of_items(5).before(&token).await;
    assert!(page.err().unwrap().is_token_mismatch());
}

#[bucket_testkit::test]
async fn parts_have_tokens_and_pages(db: Live) {
    let lines = numbers(&db, 30).await;
    let list = || lines.items(&1).filter(Numbers::colored(0));
    let page = || list().parts::<Color>().page_of_items(4);
    let first = page().await.unwrap();
    let next = first.next.unwrap();
    let numbers = |parts: &[Color]| Vec::from_iter(parts.iter().map(|part| part.n));
    assert_eq!(numbers(&first.items), [0, 3, 6, 9]);
    Numbers::remove(&lines, 1, vec![6, 9, 12]).await;
    let after = page().after(&next).await.unwrap();
    assert_eq!(numbers(&after.items), [15, 18, 21, 24]);
    let before = page().before(&next).await.unwrap();
    assert_eq!(numbers(&before.items), [0, 3]);

    // Whole buckets give the fields in the stored order, single items in the part's: that is no change.
    let mut stream = lines.items(&1).parts::<Color>().await.unwrap();
    stream.try_next().await.unwrap();
    let token = stream.token().unwrap();
    let next = lines.items(&1).after(&token).limit(1).parts::<Color>();
    let next: Vec<Color> = next.await.unwrap().try_collect().await.unwrap();
    assert_eq!(numbers(&next), [1]);
}

#[bucket_testkit::test]
async fn a_page_takes_one_round_trip_and_visits_few_buckets(Recorded(db, record): Recorded) {
    let lines = numbers(&db, 3000).await;
    let list = || lines.items(&1).filter(Numbers::colored(2));
    let mut page = list().page_of_items(20).await.unwrap();
    for _ in 0..8 {
        record.take();
        let next = page.next.unwrap();
        page = list().page_of_items(20).after(&next).await.unwrap();
        assert_eq!(record.names(), ["aggregate"]);
    }

    // The place changed: it is looked for in its bucket.
    let next = page.next.unwrap();
    let last = page.items.last().unwrap().n;
    Numbers::remove(&lines, 1, vec![last]).await;
    record.take();
    let page = list().page_of_items(20).after(&next).await.unwrap();
    assert_eq!(record.names(), ["aggregate", "aggregate", "aggregate"]);
    assert_eq!(page.items[0].n, last + 3);

    // A cluster has no profiler.
    if is_cluster().await {
        return;
    }
    db.run_command(doc! { "profile": 2 }).await.unwrap();
    let next = page.next.unwrap();
    list().page_of_items(20).after(&next).await.unwrap();
    db.run_command(doc! { "profile": 0 }).await.unwrap();
    let profile = db.collection::<Document>("system.profile");
    let of_lines = doc! { "command.aggregate": "lines" };
    let profiled = profile.find_one(of_lines).await.unwrap().unwrap();
    // 21 matching items are in 11 of 500 buckets; the server fetches some more at once.
    let examined = number(profiled.get("docsExamined"));
    assert!((11..=40).contains(&examined), "{examined}");
}

#[bucket_testkit::test]
async fn tokens_work_in_sessions(db: Live) {
    let lines = numbers(&db, 30).await;
    let first = lines.items(&1).page_of_items(10).await.unwrap();
    let token = first.next.unwrap();
    Numbers::remove(&lines, 1, vec![8, 9]).await;
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let page = lines.items(&1).session(&mut session).page_of_items(3);
    let page = page.after(&token).await.unwrap();
    assert_eq!(Vec::from_iter(page.items.iter().map(Line::n)), [10, 11, 12]);
    session.commit_transaction().await.unwrap();
}

/// In an expression of the server's, a text that begins with `$` is the path of a field.
#[bucket_testkit::test]
async fn a_key_that_looks_like_an_expression_keeps_its_places(db: Live) {
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(collection = "notes", id = "{owner}_{#}", capacity = 6)]
    struct Note {
        owner: String,
        n: i64,
    }
    let notes = Note::buckets(&db).await.unwrap();
    let all = (0..20).map(|n| Note {
        owner: "$owner".to_owned(),
        n,
    });
    notes.append_many(all).await.unwrap();
    let list = || notes.items("$owner").newest_first().page_of_items(4);
    let first = list().await.unwrap();
    let next = list().after(&first.next.unwrap()).await.unwrap();
    let found = [first.items, next.items].concat();
    let found = Vec::from_iter(found.iter().map(|note| note.n));
    assert_eq!(found, Vec::from_iter((12..20).rev()));
}
