//! The server's error codes: their names, and what each proves about a write.

use self::Proof::{Neither, Refused, Unfinished};

/// What a code proves about the write that it answers.
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
/// command that it sent to a shard as errors of the statements.
pub(super) fn refuses_statement(number: i32) -> bool {
    Code::of(number).is_none_or(|code| code.proof() != Unfinished)
}

macro_rules! codes {
    ($($(#[$doc:meta])* $number:literal => $name:ident: $proof:ident,)+) => {
        /// An error code of the server, under its name there.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Code {
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

// From the server's `error_codes.yml`: codes that refuse commands and documents, the categories for
// interruptions, exceeded times, networks, shutdowns, lost primaries and cursors, and stale routes, and
// whatever else this crate reacts to.
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
    150 => StaleEpoch: Unfinished,
    166 => CommandNotSupportedOnView: Refused,
    171 => CannotIndexParallelArrays: Refused,
    175 => QueryPlanKilled: Unfinished,
    189 => PrimarySteppedDown: Unfinished,
    197 => InvalidIndexSpecificationOption: Refused,
    202 => NetworkInterfaceExceededTimeLimit: Unfinished,
    217 => IncompleteTransactionHistory: Unfinished,
    225 => TransactionTooOld: Neither,
    237 => CursorKilled: Unfinished,
    238 => NotImplemented: Refused,
    249 => StaleDbVersion: Unfinished,
    251 => NoSuchTransaction: Neither,
    262 => ExceededTimeLimit: Unfinished,
    263 => OperationNotSupportedInTransaction: Refused,
    279 => ClientDisconnect: Unfinished,
    280 => ChangeStreamFatalError: Neither,
    286 => ChangeStreamHistoryLost: Neither,
    290 => TransactionExceededLifetimeLimitSeconds: Unfinished,
    /// The answer of Amazon DocumentDB.
    303 => FeatureNotSupported: Refused,
    316 => PooledConnectionAcquisitionExceededTimeLimit: Unfinished,
    317 => ConnectionPoolExpired: Unfinished,
    355 => InterruptedDueToStorageChange: Unfinished,
    384 => ConnectionError: Unfinished,
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
    /// The same as BSONObjectTooLarge, from the update stage and from `$push`.
    17419 => Location17419: Refused,
    17420 => Location17420: Refused,
    /// A command lacks a required field, or has an unknown one.
    40414 => Location40414: Refused,
    40415 => Location40415: Refused,
    46841 => ClientMarkedKilled: Unfinished,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_code_refuses_a_statement_and_proves_nothing_of_a_command() {
        assert!(refuses_statement(54_321) && !refuses_command(54_321));
    }

    /// The codes in the specification of retryable writes, and those of interruptions.
    #[test]
    fn what_was_interrupted_is_refused_nowhere() {
        for code in [
            6, 7, 50, 64, 89, 91, 175, 189, 262, 9001, 10107, 11600, 11601, 11602, 13435, 13436,
        ] {
            assert!(!refuses_statement(code) && !refuses_command(code), "{code}");
        }
    }
}
