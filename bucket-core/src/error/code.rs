//! The server's error codes: their names, and what each proves about a write.

use self::Proof::{Neither, Refused, Unfinished};

/// The proof that a code gives about the write that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// The write was refused, before it began or as a whole.
    Refused,
    /// Nothing: the write was interrupted, or its answer was lost between two servers.
    Unfinished,
    /// A command may have been carried out in part, but a single statement was not.
    Neither,
}

/// Whether a command with this error has changed nothing. Unknown codes prove nothing.
pub(super) fn refuses_command(number: i32) -> bool {
    Code::of(number).is_some_and(|code| code.proof() == Refused)
}

/// Whether a single statement with this error has changed nothing.
///
/// A server rolls back what a failed statement has changed, and reports an interrupted statement by
/// failing the whole command. QueryPlanKilled is the exception. A `mongos` reports any error of the
/// command that it sent to a shard as errors of the statements, so there a statement's error proves
/// no more than a command's.
pub(super) fn refuses_statement(number: i32, behind_mongos: bool) -> bool {
    let is_unfinished = || Code::of(number).is_some_and(|code| code.proof() == Unfinished);
    refuses_command(number) || !behind_mongos && !is_unfinished()
}

macro_rules! codes {
    ($($(#[$doc:meta])* $number:literal => $name:ident: $proof:ident,)+) => {
        /// An error code of the server, under its name there.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each has the server's own name")]
        pub enum Code {
            $($(#[$doc])* $name = $number,)+
        }

        impl Code {
            /// `None` if this crate does not know the code.
            pub(crate) fn of(number: i32) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)+
                    _ => None,
                }
            }

            /// The server omits the name in the error of a single statement.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            fn proof(self) -> Proof {
                match self {
                    $(Self::$name => $proof,)+
                }
            }
        }
    };
}

// From the server's list (`error_codes.txt`): codes that refuse commands and documents, every code
// of the categories for interruptions, retries, exceeded times, networks, shutdowns, lost
// primaries, overload, stale routes, write concerns, cancellations, cursors, snapshots and closed
// connections, and whatever else this crate reacts to.
codes! {
    1 => InternalError: Unfinished,
    2 => BadValue: Refused,
    6 => HostUnreachable: Unfinished,
    7 => HostNotFound: Unfinished,
    8 => UnknownError: Unfinished,
    9 => FailedToParse: Refused,
    13 => Unauthorized: Refused,
    14 => TypeMismatch: Refused,
    18 => AuthenticationFailed: Refused,
    20 => IllegalOperation: Refused,
    22 => InvalidBSON: Refused,
    23 => AlreadyInitialized: Refused,
    24 => LockTimeout: Unfinished,
    26 => NamespaceNotFound: Refused,
    27 => IndexNotFound: Refused,
    28 => PathNotViable: Refused,
    40 => ConflictingUpdateOperators: Refused,
    43 => CursorNotFound: Unfinished,
    46 => LockBusy: Unfinished,
    48 => NamespaceExists: Refused,
    50 => MaxTimeMSExpired: Unfinished,
    52 => DollarPrefixedFieldName: Refused,
    53 => InvalidIdField: Refused,
    56 => EmptyFieldName: Refused,
    57 => DottedFieldName: Refused,
    59 => CommandNotFound: Refused,
    61 => ShardKeyNotFound: Refused,
    63 => StaleShardVersion: Unfinished,
    64 => WriteConcernTimeout: Unfinished,
    66 => ImmutableField: Refused,
    67 => CannotCreateIndex: Refused,
    72 => InvalidOptions: Refused,
    73 => InvalidNamespace: Refused,
    75 => WriteConcernLegacyOK: Unfinished,
    79 => UnknownReplWriteConcern: Unfinished,
    85 => IndexOptionsConflict: Refused,
    86 => IndexKeySpecsConflict: Refused,
    89 => NetworkTimeout: Unfinished,
    90 => CallbackCanceled: Unfinished,
    91 => ShutdownInProgress: Unfinished,
    96 => OperationFailed: Unfinished,
    100 => UnsatisfiableWriteConcern: Unfinished,
    112 => WriteConflict: Neither,
    115 => CommandNotSupported: Refused,
    121 => DocumentValidationFailure: Refused,
    133 => FailedToSatisfyReadPreference: Unfinished,
    134 => ReadConcernMajorityNotAvailableYet: Unfinished,
    136 => CappedPositionLost: Unfinished,
    146 => ExceededMemoryLimit: Neither,
    150 => StaleEpoch: Unfinished,
    166 => CommandNotSupportedOnView: Refused,
    171 => CannotIndexParallelArrays: Refused,
    172 => TransportSessionClosed: Unfinished,
    175 => QueryPlanKilled: Unfinished,
    189 => PrimarySteppedDown: Unfinished,
    197 => InvalidIndexSpecificationOption: Refused,
    202 => NetworkInterfaceExceededTimeLimit: Unfinished,
    217 => IncompleteTransactionHistory: Unfinished,
    225 => TransactionTooOld: Neither,
    237 => CursorKilled: Unfinished,
    238 => NotImplemented: Refused,
    239 => SnapshotTooOld: Unfinished,
    246 => SnapshotUnavailable: Unfinished,
    249 => StaleDbVersion: Unfinished,
    250 => StaleChunkHistory: Unfinished,
    251 => NoSuchTransaction: Neither,
    262 => ExceededTimeLimit: Unfinished,
    263 => OperationNotSupportedInTransaction: Refused,
    272 => MigrationConflict: Unfinished,
    279 => ClientDisconnect: Unfinished,
    280 => ChangeStreamFatalError: Neither,
    281 => TransactionCoordinatorSteppingDown: Unfinished,
    282 => TransactionCoordinatorReachedAbortDecision: Unfinished,
    286 => ChangeStreamHistoryLost: Neither,
    290 => TransactionExceededLifetimeLimitSeconds: Unfinished,
    292 => QueryExceededMemoryLimitNoDiskUseAllowed: Neither,
    /// Amazon DocumentDB answers with this number where it lacks a feature.
    303 => SplitHorizonChange: Unfinished,
    310 => PeriodicJobIsStopped: Unfinished,
    312 => OperationIsKilledAndDelisted: Unfinished,
    314 => ObjectIsBusy: Unfinished,
    317 => ConnectionPoolExpired: Unfinished,
    333 => ServiceExecutorInShutdown: Unfinished,
    354 => LoadBalancerSupportMismatch: Unfinished,
    355 => InterruptedDueToStorageChange: Unfinished,
    358 => InternalTransactionNotSupported: Unfinished,
    372 => CloseConnectionForShutdownCommand: Unfinished,
    382 => RemoteCommandExecutionError: Unfinished,
    384 => ConnectionError: Unfinished,
    398 => StreamTerminated: Unfinished,
    402 => ResourceExhausted: Unfinished,
    406 => MigrationBlockingOperationCoordinatorCleaningUp: Unfinished,
    407 => PooledConnectionAcquisitionExceededTimeLimit: Unfinished,
    412 => UpdatesStillPending: Unfinished,
    /// An overloaded server turns a command away, or a part of it.
    433 => AdmissionQueueOverflow: Neither,
    449 => RateLimitExceeded: Neither,
    450 => PooledConnectionAcquisitionRejected: Neither,
    453 => InterruptedDueToReshardingCriticalSection: Unfinished,
    462 => IngressRequestRateLimitExceeded: Neither,
    9001 => SocketException: Unfinished,
    10003 => CannotGrowDocumentInCappedNamespace: Refused,
    10058 => LegacyNotPrimary: Unfinished,
    10107 => NotWritablePrimary: Unfinished,
    10334 => BSONObjectTooLarge: Refused,
    11000 => DuplicateKey: Refused,
    11600 => InterruptedAtShutdown: Unfinished,
    11601 => Interrupted: Unfinished,
    11602 => InterruptedDueToReplStateChange: Unfinished,
    12587 => BackgroundOperationInProgressForNamespace: Refused,
    13388 => StaleConfig: Unfinished,
    13435 => NotPrimaryNoSecondaryOk: Unfinished,
    13436 => NotPrimaryOrSecondary: Unfinished,
    17280 => KeyTooLong: Refused,
    /// BSONObjectTooLarge, as the update stage and `$push` report it.
    17419 => Location17419: Refused,
    17420 => Location17420: Refused,
    /// A command lacks a required field, or has an unknown one.
    40414 => IDLFailedToParse: Refused,
    40415 => IDLUnknownField: Refused,
    46841 => ClientMarkedKilled: Unfinished,
    50915 => BackupCursorOpenConflictWithCheckpoint: Unfinished,
    91331 => RetriableRemoteCommandFailure: Unfinished,
    10_045_600 => InterruptedDueToFCVChange: Unfinished,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The categories whose codes may all end a write in the middle.
    const CATEGORIES: [&str; 15] = [
        "CancellationError",
        "CloseConnectionError",
        "CursorInvalidatedError",
        "ExceededTimeLimitError",
        "Interruption",
        "NeedRetargettingError",
        "NetworkError",
        "NetworkTimeoutError",
        "NotPrimaryError",
        "RetriableError",
        "ShutdownError",
        "SnapshotError",
        "StaleShardVersionError",
        "SystemOverloadedError",
        "WriteConcernError",
    ];

    /// The rows of the server's list: number, name, categories.
    fn listed() -> impl Iterator<Item = (i32, &'static str, Vec<&'static str>)> {
        let rows = include_str!("error_codes.txt").lines();
        rows.filter(|row| !row.starts_with('#')).map(|row| {
            let mut words = row.split(' ');
            let number = words.next().unwrap().parse().unwrap();
            (number, words.next().unwrap(), words.collect())
        })
    }

    #[test]
    fn each_code_that_may_end_a_write_in_the_middle_has_a_row_and_refuses_nothing() {
        let mut met = BTreeSet::new();
        for (number, name, categories) in listed() {
            let code = Code::of(number).unwrap_or_else(|| panic!("{number} {name} has no row"));
            assert_eq!(code.name(), name, "{number}");
            if categories.iter().any(|of| CATEGORIES.contains(of)) {
                assert!(!refuses_command(number), "{number} {name}");
            }
            met.extend(categories);
        }
        assert!(CATEGORIES.iter().all(|category| met.contains(category)));
    }

    #[test]
    fn an_unknown_code_refuses_a_statement_on_a_mongod_and_proves_nothing_elsewhere() {
        assert!(refuses_statement(54_321, false));
        assert!(!refuses_statement(54_321, true) && !refuses_command(54_321));
        // A shard may end a command in the middle with these.
        assert!(refuses_statement(112, false) && !refuses_statement(112, true));
        assert!(refuses_statement(11000, false) && refuses_statement(11000, true));
    }

    /// The codes in the specification of retryable writes, and those of interruptions.
    #[test]
    fn what_was_interrupted_is_refused_nowhere() {
        for code in [
            6, 7, 50, 64, 89, 91, 175, 189, 262, 453, 9001, 10107, 11600, 11601, 11602, 13435,
            13436, 10_045_600,
        ] {
            assert!(
                !refuses_statement(code, false) && !refuses_command(code),
                "{code}"
            );
        }
    }
}
