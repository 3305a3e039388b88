//! The calls of [`Buckets`](crate::Buckets) and [`Outliers`](crate::Outliers) before they are sent:
//! they take settings, such as a session, and run when they are awaited. Most are a [`Call`], which
//! [`Write`], [`Read`] and others are short for; reads that give streams are builders of their own.
//! Functions that ask for a future, such as `join_all` or `.instrument(span)`, take
//! `trades.append(&trade).into_future()`.

use crate::{
    Bucket, Result,
    outlier::{
        Outlier,
        read::{
            extras::ExtrasBucket,
            item_form::ParentItemForm,
            parent::{Parent, ParentForm},
        },
    },
    read::{
        items::{ItemForm, ItemStream},
        page::Page,
        rollup::{WindowRollup, typed::Rollup},
        stream::ReadStream,
        watch::WatchStream,
    },
    write::bulk::AppendManyError,
};
pub use crate::{
    call::{Call, InSession, Write},
    open::{
        OpenBuckets, OpenSettings,
        create::{CreateCollections, CreateSettings},
    },
    outlier::{
        open::OpenOutliers,
        read::{extras::Extras, find::Find, item_form::PartsOfItems, items::ParentItems},
    },
    read::{
        items::{Items, PageOfItems, PagePlace},
        pages::Pages,
        part::{PartOf, Whole},
        rollup::{ReadRollup, RollupSeries},
        settings::{CountItems, Read, ReadDocument, ReadSettings, SkipUnreadable, TakesFilter},
        watch::Watch,
    },
    write::{
        bulk::AppendMany,
        edit::many::{SweepSettings, WriteMany},
    },
};

/// Implements `IntoFuture` for builders and, with the feature `sync`, `run`: both call `execute`,
/// in a span with the name of the method.
#[doc(hidden)]
#[macro_export]
macro_rules! __actions {
    ($($name:ident: $life:lifetime [$($generics:tt)*] $builder:ty => $output:ty;)+) => {$(
        impl<$($generics)*> IntoFuture for $builder {
            type Output = $output;
            type IntoFuture = futures_util::future::BoxFuture<$life, $output>;

            fn into_future(self) -> Self::IntoFuture {
                // Boxed first, so that the compiler makes one span's future for each output, not
                // for each call.
                bucket_core::server::call::run(bucket_core::server::call::span!($name), Box::pin(self.execute()), false)
            }
        }

        #[cfg(feature = "sync")]
        impl<$($generics)*> $builder {
            /// Carries the call out, and blocks the thread until it is done. Needs the feature
            /// `sync`; not for asynchronous code, see [`sync`](crate::sync).
            pub fn run(self) -> $output {
                $crate::sync::block_on(self.into_future())
            }
        }
    )+};
}

/// Like `actions`, for builders whose output is a stream, which `run` returns as an iterator.
#[doc(hidden)]
#[macro_export]
macro_rules! __streams {
    ($($name:ident: $life:lifetime [$($generics:tt)*] $builder:ty => $stream:ty;)+) => {$(
        impl<$($generics)*> IntoFuture for $builder {
            type Output = $crate::Result<$stream>;
            type IntoFuture = futures_util::future::BoxFuture<$life, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                bucket_core::server::call::run(bucket_core::server::call::span!($name), Box::pin(self.execute()), true)
            }
        }

        #[cfg(feature = "sync")]
        impl<$($generics)*> $builder {
            /// Carries the call out, and blocks the thread until the first batch arrives; later the
            /// iterator blocks for each further one. Needs the feature `sync`; not for asynchronous
            /// code, see [`sync`](crate::sync).
            pub fn run(self) -> $crate::Result<$crate::sync::Iter<$stream>> {
                $crate::sync::block_on(self.into_future()).map($crate::sync::Iter::new)
            }
        }
    )+};
}

#[cfg(feature = "sync")]
impl<T, S, E> Call<'_, T, S, E> {
    /// Carries the call out, and blocks the thread until it is done. Needs the feature `sync`; not
    /// for asynchronous code, see [`sync`](crate::sync).
    pub fn run(self) -> Result<T, E> {
        crate::sync::block_on(self.into_future())
    }
}

__actions! {
    append_many: 'c ['c, T: Bucket] AppendMany<'c, T> => Result<u64, AppendManyError<T>>;
    rollup: 'c ['c, T: Bucket] ReadRollup<'c, T> => Result<Rollup<T>>;
}

__streams! {
    items: 'c ['c, T: Bucket, F: ItemForm<Of = T>] Items<'c, T, F> => ItemStream<'c, F::Item>;
    pages: 'c ['c, T: Bucket] Pages<'c, T> => ReadStream<'c, Page<T>>;
    watch: 'static [I: Send + 'static] Watch<I> => WatchStream<I>;
    rollup_series: 'c ['c, T: Bucket] RollupSeries<'c, T> => ReadStream<'c, WindowRollup<T>>;
    items: 'c ['c, T: Outlier, F: ParentItemForm<Of = T>] ParentItems<'c, T, F> => ReadStream<'c, F::Item>;
    extras: 'c ['c, T: Outlier] Extras<'c, T> => ReadStream<'c, ExtrasBucket<T::Item>>;
    find: 'c ['c, T: Outlier, F: ParentForm<Of = T>] Find<'c, T, F> => ReadStream<'c, Parent<F::Document>>;
}
