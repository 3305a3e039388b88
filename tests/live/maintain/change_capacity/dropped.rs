//! A crash between any two commands of a change: its future is dropped at each of them, after it was sent and before
//! its answer arrives. (A call that is dropped at the answer leaves no other state than that command.)

use bucket_ops::Ops;
use bucket_runtime::{
    Error,
    mongodb::{Database, bson::Document},
};

use super::{
    Numbered4, Numbered10, Timed10, Timed25, Trade, Windowed10, Windowed25, index::indexes,
    is_refused, is_sound, stored,
};
use crate::support::{
    assert_refused,
    database::{Live, documents, settled},
    events::counted,
};

/// Waits until the dropped call has no command on its way any more.
async fn at_rest(db: &Database) {
    let trades = db.collection::<Document>("trades");
    let look = async || (documents(&trades).await, indexes(db).await);
    settled(std::time::Duration::from_millis(20), look).await;
}

/// Drops the change from `A` to `B` at each command, and then calls for `Last`, which is one of them.
async fn dropped<A: Trade, B: Trade, Last: Trade>(db: &Database) {
    let (cut, events) = counted(db.name()).await;
    // How many of the interrupted changes leave the collection closed, and how many do not.
    let (mut closed, mut open) = (0, 0);
    for stop in (1..).step_by(2) {
        db.drop().await.unwrap();
        A::create_collection(db).await.unwrap();
        let old = A::buckets(db).await.unwrap();
        for n in 0..14 {
            old.append(&A::new(1 + n / 12, n)).await.unwrap();
        }
        let done = events.cut(stop, Ops::<B>::of(&cut).change_capacity()).await;
        at_rest(db).await;

        let mut expected = Vec::from_iter(0..14);
        let opened = B::buckets(db).stored_capacity(true).await;
        for customer in [1, 2, 3] {
            let n = expected.len() as i64;
            match old.append(&A::new(customer, n)).await {
                Ok(_) => {
                    expected.push(n);
                    assert!(!done, "G2");
                }
                Err(error) => assert_refused(&error, Error::is_index_missing),
            }
        }
        match opened {
            Ok(trades) => {
                let n = expected.len() as i64;
                trades.append(&B::new(1, n)).await.unwrap();
                expected.push(n);
                open += 1;
            }
            Err(error) => {
                assert!(error.is_index_missing() && !done, "{error}");
                assert!(error.to_string().contains("`change_capacity`"), "{error}");
                assert!(A::buckets(db).await.unwrap_err().is_index_missing());
                assert!(B::buckets(db).await.unwrap_err().is_index_missing());
                closed += 1;
            }
        }
        assert_eq!(stored(db).await, expected, "G1");

        Ops::<Last>::of(db).change_capacity().await.unwrap();
        assert_eq!(stored(db).await, expected, "G1");
        let [(_, false)] = indexes(db).await[..] else {
            panic!("{:?}", indexes(db).await)
        };
        // The validator is the struct's.
        Last::create_collection(db).await.unwrap();
        if Last::SPEC.capacity != A::SPEC.capacity {
            is_refused(&old, &A::new(1, -1)).await;
        }
        is_sound::<Last>(db).await;
        if done {
            break;
        }
    }
    assert!(closed > 5 && open > 2, "{closed}, {open}");
}

#[bucket_testkit::test]
async fn g1_g2_g3_of_a_change_dropped_at_every_command_and_called_again_or_undone(db: Live) {
    dropped::<Timed10, Timed25, Timed25>(&db).await;
    dropped::<Numbered10, Numbered4, Numbered4>(&db).await;
    dropped::<Windowed10, Windowed25, Windowed10>(&db).await;
}
