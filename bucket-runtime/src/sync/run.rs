//! `run` for every builder, from one table. That none is missing is shown by the test
//! `blocking_twins`; that none differs, by the compiler.

use std::future::IntoFuture;

use super::{Iter, RUNTIME};
use crate::{
    Bucket, Buckets, Result,
    action::*,
    bson::Bson,
    maintain::{recapacity::RecapacityProgress, regroup::RegroupProgress, verify::BucketProblem},
    outlier::{
        Advice, ExtrasStream, FindStream, Outlier, Outliers, Parent, Problem, PushManyError,
        SplitProgress, ValueStream,
    },
    read::{items::ItemStream, page::Page, pages::PageStream, watch::WatchStream},
    value::rollup::Rollup,
    write::{appended::Appended, bulk::AppendManyError},
};

macro_rules! run {
    ($([$($generics:tt)*] $builder:ty => $output:ty;)+) => {$(
        impl<$($generics)*> $builder {
            /// Carries it out, and blocks the thread until that is done. Needs the feature `sync`;
            /// not for asynchronous code, see [`sync`](crate::sync).
            pub fn run(self) -> $output {
                RUNTIME.block_on(self.into_future())
            }
        }
    )+};
}

macro_rules! run_as_iterator {
    ($([$($generics:tt)*] $builder:ty => $stream:ty;)+) => {$(
        impl<$($generics)*> $builder {
            /// Carries it out, and blocks the thread until the first batch is there, and later for
            /// each further one. Needs the feature `sync`; not for asynchronous code, see
            /// [`sync`](crate::sync).
            pub fn run(self) -> Result<Iter<$stream>> {
                let stream = RUNTIME.block_on(self.into_future())?;
                Ok(Iter(Box::pin(stream)))
            }
        }
    )+};
}

run! {
    [T: Bucket] OpenBuckets<T> => Result<Buckets<T>>;
    [] Append<'_> => Result<Appended>;
    [T: Bucket] AppendMany<'_, T> => Result<u64, AppendManyError<T>>;
    [T: Bucket] Regroup<'_, T> => Result<RegroupProgress>;
    [T: Bucket] FindPage<'_, T> => Result<Option<Page<T>>>;
    [] Count<'_> => Result<u64>;
    [T: Bucket] RollUp<'_, T> => Result<Rollup<T>>;
    [T: Bucket] RemoveItem<'_, T> => Result<Option<T>>;
    [T: Bucket] RemoveStored<'_, T> => Result<Option<Bson>>;
    ['s, T: Bucket, F: FnMut(&mut T) + Send + 's] UpdateItem<'s, T, F> => Result<Option<T>>;
    [] RemoveKey<'_> => Result<u64>;
    [] CreateView<'_> => Result<()>;
    [] CreateCollections => Result<()>;
    [T: Bucket] Recapacity<'_, T> => Result<RecapacityProgress>;
    [] VerifyBuckets => Result<Vec<BucketProblem>>;
    [] RepairBuckets => Result<Vec<BucketProblem>>;

    [T: Outlier] OpenOutliers<T> => Result<Outliers<T>>;
    [] Insert<'_> => Result<()>;
    [] Push<'_> => Result<()>;
    [T: Outlier] PushMany<'_, T> => Result<(), PushManyError<T::Item>>;
    [T: Outlier] Get<'_, T> => Result<Option<Parent<T>>>;
    [T: Outlier] GetAll<'_, T> => Result<Option<T>>;
    [] CountValues<'_> => Result<u64>;
    [] Remove<'_> => Result<bool>;
    [] Delete<'_> => Result<bool>;
    [T: Outlier] SplitExisting<'_, T> => Result<SplitProgress>;
    [T: Outlier] Verify<T> => Result<Vec<Problem>>;
    [T: Outlier] Repair<T> => Result<Vec<Problem>>;
    [] Advise => Result<Advice>;
}

run_as_iterator! {
    ['s, T: Bucket] Items<'s, T> => ItemStream<'s, T>;
    ['s, T: Bucket] Pages<'s, T> => PageStream<'s, T>;
    [T: Bucket] Watch<T> => WatchStream<T>;
    ['s, T: Outlier] Values<'s, T> => ValueStream<'s, T::Item>;
    ['s, T: Outlier] Extras<'s, T> => ExtrasStream<'s, T::Item>;
    ['s, T: Outlier] Find<'s, T> => FindStream<'s, T>;
}
