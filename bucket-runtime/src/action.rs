//! The calls of [`Buckets`] and [`Outliers`] as builders: they take a session, and run when they are
//! awaited. Functions that ask for a future, such as `join_all` or `.instrument(span)`, take
//! `trades.append(&trade).into_future()`.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;

use crate::{
    Bucket, Buckets, Result,
    bson::Bson,
    maintain::{
        archive::{export::ExportStream, import::Imported},
        import_flat::ImportProgress,
        verify::{RepairedBuckets, VerifiedBuckets, rebuild::RollupProgress},
    },
    outlier::{
        ExtrasStream, FindStream, FoundItem, Outlier, Outliers, Parent, ParentForm, ParentItemForm,
        ParentItemStream, PushManyError, RepairedOutliers, VerifiedOutliers,
    },
    read::{
        items::{ItemForm, ItemPage, ItemStream},
        page::Page,
        pages::PageStream,
        rollup::RollupStream,
        watch::WatchStream,
    },
    server::call,
    value::rollup::Rollup,
    write::{
        appended::Appended,
        bulk::AppendManyError,
        edit::{many::EditManyError, upsert::Upserted},
    },
};
pub use crate::{
    maintain::{
        archive::{export::Export, import::Import},
        change_capacity::ChangeCapacity,
        create::CreateCollections,
        import_flat::ImportFlat,
        migrate::Migrate,
        open::OpenBuckets,
        verify::{RepairBuckets, VerifyBuckets, rebuild::RebuildRollups},
    },
    outlier::{
        CountParentItems, Delete, Extras, Find, FindItem, Get, GetAll, Insert, OpenOutliers,
        PageOfParentItems, ParentItems, PartsOfItems, Push, PushMany, RemoveParentItem,
        RemoveParentItems, RepairOutliers, UpdateParent, UpdateParentItem, UpdateParentItems,
        UpsertParentItem, VerifyOutliers,
    },
    read::{
        count::{Count, CountPages},
        find_page::FindPage,
        items::{Items, PageOfItems},
        pages::Pages,
        part::{PartOf, Whole},
        rollup::{ReadRollup, RollupSeries},
        watch::Watch,
    },
    write::{
        append::Append,
        append_or_get::AppendOrGet,
        bulk::AppendMany,
        edit::{
            RemoveItem, RemoveStored, UpdateItem,
            many::{RemoveItems, UpdateItems},
            upsert::UpsertItem,
        },
        remove::RemoveKey,
    },
};

/// Implements `IntoFuture` for builders and, with the feature `sync`, `run`: both call `execute`, in a span
/// with the name of the method.
macro_rules! actions {
    ($($name:ident: $life:lifetime [$($generics:tt)*] $builder:ty => $output:ty;)+) => {$(
        impl<$($generics)*> IntoFuture for $builder {
            type Output = $output;
            type IntoFuture = BoxFuture<$life, $output>;

            fn into_future(self) -> Self::IntoFuture {
                // Boxed first, so that the compiler makes one span's future for each output, not for each call.
                call::run(call::span!($name), Box::pin(self.execute()), false)
            }
        }

        #[cfg(feature = "sync")]
        impl<$($generics)*> $builder {
            /// Carries the call out, and blocks the thread until it is done. Needs the feature `sync`;
            /// not for asynchronous code, see [`sync`](crate::sync).
            pub fn run(self) -> $output {
                crate::sync::block_on(self.into_future())
            }
        }
    )+};
}

/// Like `actions`, for builders whose output is a stream, which `run` returns as an iterator.
macro_rules! streams {
    ($($name:ident: $life:lifetime [$($generics:tt)*] $builder:ty => $stream:ty;)+) => {$(
        impl<$($generics)*> IntoFuture for $builder {
            type Output = Result<$stream>;
            type IntoFuture = BoxFuture<$life, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                call::run(call::span!($name), Box::pin(self.execute()), true)
            }
        }

        #[cfg(feature = "sync")]
        impl<$($generics)*> $builder {
            /// Carries the call out, and blocks the thread until the first batch arrives; later the
            /// iterator blocks for each further one. Needs the feature `sync`; not for asynchronous
            /// code, see [`sync`](crate::sync).
            pub fn run(self) -> Result<crate::sync::Iter<$stream>> {
                crate::sync::block_on(self.into_future()).map(crate::sync::Iter::new)
            }
        }
    )+};
}

actions! {
    buckets: 'static [T: Bucket] OpenBuckets<T> => Result<Buckets<T>>;
    append: 'c ['c] Append<'c> => Result<Appended>;
    append_or_get: 'c ['c, T: Bucket] AppendOrGet<'c, T> => Result<Option<T>>;
    append_many: 'c ['c, T: Bucket] AppendMany<'c, T> => Result<u64, AppendManyError<T>>;
    import_flat: 'c ['c, T: Bucket] ImportFlat<'c, T> => Result<ImportProgress>;
    import: 'c ['c, T: Bucket] Import<'c, T> => Result<Imported>;
    count: 'c ['c, T: Bucket] Count<'c, T> => Result<u64>;
    page_count: 'c ['c] CountPages<'c> => Result<u64>;
    rollup: 'c ['c, T: Bucket] ReadRollup<'c, T> => Result<Rollup<T>>;
    remove_item: 'c ['c, T: Bucket] RemoveItem<'c, T> => Result<Option<T>>;
    remove_stored: 'c ['c, T: Bucket] RemoveStored<'c, T> => Result<Option<Bson>>;
    update_item: 'c ['c, T: Bucket, F: FnMut(&mut T) + Send + 'c] UpdateItem<'c, T, F> => Result<Option<T>>;
    remove_items: 'c ['c, T: Bucket] RemoveItems<'c, T> => Result<u64, EditManyError>;
    update_items: 'c ['c, T: Bucket, F: FnMut(&mut T) + Send + 'c] UpdateItems<'c, T, F> => Result<u64, EditManyError>;
    upsert_item: 'c ['c, T: Bucket] UpsertItem<'c, T> => Result<Upserted>;
    remove_key: 'c ['c] RemoveKey<'c> => Result<u64>;
    create: 'static [] CreateCollections => Result<()>;
    change_capacity: 'static [T: Bucket] ChangeCapacity<T> => Result<()>;
    migrate_from: 'c ['c, O: Bucket, T: Bucket] Migrate<'c, O, T> => Result<u64>;
    verify: 'static [] VerifyBuckets => Result<VerifiedBuckets>;
    repair: 'static [] RepairBuckets => Result<RepairedBuckets>;
    rebuild_rollups: 'c ['c] RebuildRollups<'c> => Result<RollupProgress>;

    outliers: 'static [T: Outlier] OpenOutliers<T> => Result<Outliers<T>>;
    insert: 'c ['c] Insert<'c> => Result<()>;
    push: 'c ['c] Push<'c> => Result<Appended>;
    push_many: 'c ['c, T: Outlier] PushMany<'c, T> => Result<u64, PushManyError<T::Item>>;
    upsert_item: 'c ['c, T: Outlier] UpsertParentItem<'c, T> => Result<Upserted>;
    count: 'c ['c, T: Outlier] CountParentItems<'c, T> => Result<u64>;
    update: 'c ['c, T: Outlier, F: FnMut(&mut T) + Send + 'c] UpdateParent<'c, T, F> => Result<bool>;
    update_item: 'c ['c, T: Outlier, F: FnMut(&mut T::Item) + Send + 'c] UpdateParentItem<'c, T, F> => Result<Option<T::Item>>;
    update_items: 'c ['c, T: Outlier, F: FnMut(&mut T::Item) + Send + 'c] UpdateParentItems<'c, T, F> => Result<u64, EditManyError>;
    remove_item: 'c ['c, T: Outlier] RemoveParentItem<'c, T> => Result<Option<T::Item>>;
    remove_items: 'c ['c, T: Outlier] RemoveParentItems<'c, T> => Result<u64, EditManyError>;
    delete: 'c ['c] Delete<'c> => Result<bool>;
    verify: 'static [T: Outlier] VerifyOutliers<T> => Result<VerifiedOutliers>;
    repair: 'static [T: Outlier] RepairOutliers<T> => Result<RepairedOutliers>;

    page: 'c ['c, T: Bucket] FindPage<'c, T> => Result<Option<Page<T>>>;
    page_of_items: 'c ['c, T: Bucket, F: ItemForm<Of = T>] PageOfItems<'c, T, F> => Result<ItemPage<F::Item>>;
    get: 'c ['c, T: Outlier] Get<'c, T> => Result<Option<Parent<T>>>;
    get_all: 'c ['c, T: Outlier] GetAll<'c, T> => Result<Option<T>>;
    page_of_items: 'c ['c, T: Outlier, F: ParentItemForm<Of = T>] PageOfParentItems<'c, T, F> => Result<ItemPage<F::Item>>;
    find_item: 'c ['c, T: Outlier] FindItem<'c, T> => Result<Option<FoundItem<T::Item>>>;
}

streams! {
    items: 'c ['c, T: Bucket, F: ItemForm<Of = T>] Items<'c, T, F> => ItemStream<'c, F::Item>;
    pages: 'c ['c, T: Bucket] Pages<'c, T> => PageStream<'c, T>;
    export: 'c ['c, T: Bucket] Export<'c, T> => ExportStream<'c>;
    watch: 'static [I: Send + 'static] Watch<I> => WatchStream<I>;
    rollup_series: 'c ['c, T: Bucket] RollupSeries<'c, T> => RollupStream<'c, T>;
    items: 'c ['c, T: Outlier, F: ParentItemForm<Of = T>] ParentItems<'c, T, F> => ParentItemStream<'c, F::Item>;
    extras: 'c ['c, T: Outlier] Extras<'c, T> => ExtrasStream<'c, T::Item>;
    find: 'c ['c, T: Outlier, F: ParentForm<Of = T>] Find<'c, T, F> => FindStream<'c, F::Document>;
}
