//! The base of the builders that read one parent.

use std::marker::PhantomData;

use bucket_core::{protocol::range::Range, value::unreadable::OnUnreadable};
use mongodb::ClientSession;

use super::parent::{Parent, ParentForm, next_parent};
use crate::{
    Result,
    outlier::{Outlier, parent_handle::ParentHandle},
    read::part::Whole,
};

/// A read of one parent, before it is sent.
pub(super) struct ParentRead<'s, T, F = Whole<T>> {
    pub(super) parent: ParentHandle,
    pub(super) session: Option<&'s mut ClientSession>,
    pub(super) on_unreadable: Option<OnUnreadable<'s>>,
    form: PhantomData<fn() -> (T, F)>,
}

impl<'s, T: Outlier> ParentRead<'s, T> {
    pub(super) fn new(parent: ParentHandle) -> Self {
        Self {
            parent,
            session: None,
            on_unreadable: None,
            form: PhantomData,
        }
    }

    /// Reads in another form.
    pub(super) fn in_form<F>(self) -> ParentRead<'s, T, F> {
        ParentRead {
            parent: self.parent,
            session: self.session,
            on_unreadable: self.on_unreadable,
            form: PhantomData,
        }
    }
}

impl<T: Outlier, F: ParentForm<Of = T>> ParentRead<'_, T, F> {
    /// Reads the parent itself.
    pub(super) async fn get(&mut self) -> Result<Option<Parent<F::Document>>> {
        let Self {
            parent,
            session,
            on_unreadable,
            ..
        } = self;
        let range = Range {
            projection: F::projection(),
            limit: Some(1),
            ..Range::unordered()
        };
        let found = parent.parent().find(parent.scope.parent(), range);
        let mut rows = found.cursor(session.as_deref_mut()).await?;
        next_parent::<F>(&mut rows, on_unreadable.as_mut()).await
    }
}

/// Adds the setters to a builder that holds a [`ParentRead`]. The docs are those of
/// `skip_unreadable`.
macro_rules! parent_read_settings {
    ($(#[$doc:meta])+) => {
        $crate::read::settings::read_settings!(
            |call| call.0.parent.collections.parents,
            call.0.parent.collections.extras.server
        );
        $crate::read::settings::session_setting! {
            /// Reads in this session; a stream borrows it.
            |call| call.0.session
        }
        $crate::read::settings::unreadable_setting! {
            $(#[$doc])+
            |call| call.0.on_unreadable
        }
    };
}

pub(super) use parent_read_settings;
