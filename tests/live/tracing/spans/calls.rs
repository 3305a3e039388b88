//! Every call, with the span that it has.

use std::{convert::Infallible, fmt::Debug};

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::{StreamExt, TryStream, TryStreamExt, stream};

use super::{Book, FollowerName, Look, Title, User, Visitor, book, user};
use crate::support::{
    ops,
    visits::{Moved, Visit, visit},
};

/// Makes the calls one after the other, and looks at the span of each, which has this name.
macro_rules! calls {
    ($look:ident, $collection:literal; $($name:ident: $call:expr;)+) => {$(
        let _ = $call.await.unwrap();
        $look.at($collection, stringify!($name)).await;
    )+};
}

/// Reads a stream of this many values to its end.
async fn all<S: TryStream<Error: Debug>, E>(
    stream: impl IntoFuture<Output = Result<S, E>>,
    count: usize,
) -> Result<(), E> {
    let values: Vec<S::Ok> = stream.await?.try_collect().await.unwrap();
    assert_eq!(values.len(), count);
    Ok(())
}

pub(super) async fn of_buckets(db: &Database, look: &mut Look) {
    calls! { look, "visits"; create: Visit::create_collection(db); }
    let visits = Visit::buckets(db).await.unwrap();
    look.at("visits", "buckets").await;

    visits.append(&visit(0)).await.unwrap();
    let told = look.at("visits", "append").await;
    assert_eq!(told.fields["db.system.name"], "mongodb");
    assert_eq!(told.fields["db.operation.name"], "append");
    assert_eq!(told.fields["db.namespace"], db.name());
    assert_eq!(told.fields["otel.kind"], "client");
    assert_eq!(told.fields["otel.name"], "append visits");
    assert!(!told.fields.contains_key("otel.status_code"), "{told:?}");
    for visitor in [1, 2, 3, 1] {
        calls! { look, "visits"; append: visits.append(&visit(visitor)); }
    }
    calls! { look, "visits"; append_many: visits.append_many((4..500).map(visit)); }
    let flat = doc! { "page": 9, "at": visit(1000).at, "visitor": 1000_i64, "seconds": 10_i64 };
    let rows = db.collection::<Document>("flat");
    rows.insert_one(flat).await.unwrap();
    look.record.take();
    let newest = || visits.all_items().limit(7).newest_first();
    let parts = || visits.items(&1).parts::<Visitor>();
    calls! { look, "visits";
        import_flat: ops(&visits).import_flat(&rows);
        page: visits.page(&1, 2);
        page: visits.latest(&1);
        pages: all(visits.pages(&1), 250);
        // 101 buckets are in the first batch.
        items: all(visits.items(&1), 500);
        items: all(visits.items(&1).skip(300), 200);
        items: all(newest(), 7);
        items: all(parts(), 500);
        page_of_items: parts().page_of_items(3);
    }
    let page = visits.items(&1).page_of_items(3).await.unwrap();
    look.at("visits", "page_of_items").await;
    let after = page.next.unwrap();
    calls! { look, "visits";
        page_of_items: visits.items(&1).page_of_items(3).after(&after);
        count: visits.count(&1);
        page_count: visits.page_count(&1);
        rollup: visits.rollup(&1);
        rollup_series: all(visits.rollup(&1).per_windows(1), 9);
    }
    let lines = ops(&visits).export(&1).await.unwrap();
    let lines: Vec<_> = lines.try_collect().await.unwrap();
    look.at("visits", "export").await;

    let one = || Visit::FIELDS.visitor.eq(7);
    let another = Visit::FIELDS.visitor.eq(8);
    let some = Visit::FIELDS.visitor.between(20..25);
    let old = Visit::FIELDS.at.lt(DateTime::from_millis(100 * 60_000));
    let shorter = |visit: &mut Visit| visit.seconds = 1;
    let lines = stream::iter(lines).map(Ok::<_, Infallible>);
    calls! { look, "visits";
        update_item: visits.update_item(&1, one(), shorter);
        upsert_item: visits.upsert_item(&visit(7));
        append_or_get: visits.append_or_get(&visit(7));
        remove_item: visits.remove_item(&1, one());
        remove_stored: visits.remove_stored(&1, another);
        update_items: visits.update_items(&1, some, shorter);
        remove_items: visits.remove_items(&1, old);
        remove_key: visits.remove_key(&1);
        import: ops(&visits).import(lines);
        verify: ops(&visits).verify();
        repair: ops(&visits).repair();
        rebuild_rollups: ops(&visits).rebuild_rollups();
    }
    let moved = Ops::<Moved>::of(db);
    calls! { look, "moved"; migrate_from: moved.migrate_from(|visit: Visit| visit.into()); }
    calls! { look, "visits"; change_capacity: ops(&visits).change_capacity(); }
    let mut watched = visits.watch(&1).await.unwrap();
    let late = Visit::buckets(db).await.unwrap();
    late.append(&visit(2000)).await.unwrap();
    watched.try_next().await.unwrap().unwrap();
    drop(watched);
    let spans = look.spans.take();
    assert!(spans.iter().any(|told| told.name == "watch"), "{spans:?}");
    look.record.take();
    calls! { look, "visits"; watch: visits.watch_all(); }
}

pub(super) async fn of_outliers(db: &Database, look: &mut Look) {
    let books = Book::outliers(db).await.unwrap();
    look.at("books", "outliers").await;
    calls! { look, "books"; insert: books.insert(&book(1, 1)); }
    for buyer in ["a", "b", "c", "d"] {
        calls! { look, "books"; push: books.push(&1, buyer); }
    }
    let many = (0..9).map(|n| n.to_string());
    let item = Book::FIELDS.buyers.item();
    let louder = |buyer: &mut String| buyer.push('!');
    calls! { look, "books";
        push_many: books.push_many(&1, many);
        update: books.update(&1, |book| book.title.push('!'));
        get: books.get(&1);
        get_all: books.get_all(&1);
        items: all(books.items(&1), 14);
        extras: all(books.extras(&1), 1);
        items: all(books.items(&1).newest_first().limit(3), 3);
        page_of_items: books.items(&1).page_of_items(5);
        find_item: books.find_item(&1, item.eq("a"));
        // In the parent, and in the extras.
        update_item: books.update_item(&1, item.eq("a"), louder);
        update_item: books.update_item(&1, item.eq("8"), louder);
        update_items: books.update_items(&1, item.is_in(["a!", "8!"]), |buyer| buyer.truncate(1));
        remove_item: books.remove_item(&1, item.eq("7"));
        remove_items: books.remove_items(&1, item.is_in(["b", "6"]));
        count: books.count(&1);
        find: all(books.find(doc! {}), 1);
        find: all(books.find(doc! {}).parts::<Title>(), 1);
        watch: books.watch(&1);
        watch: books.watch_all();
        verify: OutlierOps::<Book>::of(db).verify();
        repair: OutlierOps::<Book>::of(db).repair();
        delete: books.delete(&1);
    }

    let users = User::outliers(db).await.unwrap();
    look.at("users", "outliers").await;
    let names = || users.items(&1).parts::<FollowerName>();
    calls! { look, "users";
        insert: users.insert(&user(1, 9));
        items: all(names(), 9);
        page_of_items: names().page_of_items(4);
    }
}
