//! How complete a stream is delivered.

use std::time::Duration;

use samplewire_proto::Nanos;
use samplewire_proto::receiver::{self as proto, ReceiverConfig};

use crate::error::OpenError;

/// What happens to packets that are lost.
///
/// ```
/// use std::time::Duration;
///
/// use samplewire::{Delivery, ReceiveOptions};
///
/// let options = ReceiveOptions::new().delivery(Delivery::Deadline(Duration::from_millis(5)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// All are repaired, however long it takes.
    #[default]
    Complete,
    /// Those that are not repaired in this time, 1 us to 30 s, are gaps.
    Deadline(Duration),
    /// None is repaired: all are gaps.
    BestEffort,
}

impl Delivery {
    /// The protocol's form.
    ///
    /// # Errors
    /// The deadline is out of range.
    pub(crate) fn checked(self) -> Result<proto::Delivery, OpenError> {
        let delivery = match self {
            Self::Complete => proto::Delivery::Complete,
            Self::Deadline(deadline) => {
                let deadline_ns = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
                proto::Delivery::Deadline(Nanos(deadline_ns))
            }
            Self::BestEffort => proto::Delivery::BestEffort,
        };
        match (ReceiverConfig::new().with_delivery(delivery), self) {
            (Ok(_), _) => Ok(delivery),
            (Err(_), Self::Deadline(deadline)) => Err(OpenError::OptionRange {
                option: "deadline",
                value: u64::try_from(deadline.as_micros()).unwrap_or(u64::MAX),
                range: "1 to 30000000 us",
            }),
            (Err(error), _) => unreachable!("only a deadline has a range: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_out_of_range_is_refused_with_its_value() {
        for (deadline, value) in [
            (Duration::ZERO, 0),
            (Duration::from_micros(30_000_001), 30_000_001),
            (Duration::from_secs(4_295), 4_295_000_000),
            (Duration::MAX, u64::MAX),
        ] {
            let error = Delivery::Deadline(deadline).checked().unwrap_err();
            assert!(
                matches!(error, OpenError::OptionRange { value: it, .. } if it == value),
                "{error}"
            );
        }
        for deadline in [Duration::from_micros(1), Duration::from_secs(30)] {
            let deadline_ns = Nanos(deadline.as_nanos() as u64);
            let checked = Delivery::Deadline(deadline).checked().unwrap();
            assert_eq!(checked, proto::Delivery::Deadline(deadline_ns));
        }
    }
}
