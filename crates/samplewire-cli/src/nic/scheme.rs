//! The sending schemes 1 to 3, as the options choose them.

use std::time::Duration;

use samplewire_proto::Nanos;
use samplewire_proto::block::Scheme;

use crate::arguments::SchemeOptions;

/// The scheme that the options choose.
pub(super) fn scheme(options: &SchemeOptions) -> Scheme {
    Scheme::new(options.scheme, options.burst, nanos(options.delay))
        .expect("the options have their ranges")
}

/// An option's time.
pub(super) fn nanos(span: Duration) -> Nanos {
    Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX / 2))
}
