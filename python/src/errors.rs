//! Errors of the library as exceptions of the package, one class for each
//! (`samplewire/_errors.py`).

use std::net::SocketAddr;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use samplewire::transmitter::{SendError, SessionEnd};
use samplewire::{End, OpenError, ReceiveError};
use samplewire_io::LinkError;
use samplewire_proto::OutOfRange;
use samplewire_proto::wire::CloseReason;
use samplewire_record::sink::SinkError;
use samplewire_record::source::{SourceError, SpecError};

/// The class `name` of an exception or a warning.
pub(crate) fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("samplewire._errors")?.getattr(name)
}

/// An exception of the class `name`.
pub(crate) fn error(py: Python<'_>, name: &str, message: String) -> PyErr {
    with(py, name, message, |_| Ok(()))
}

pub(crate) fn open_error(py: Python<'_>, error: &OpenError) -> PyErr {
    let name = match error {
        OpenError::Link(error) => return link_error(py, error),
        OpenError::Card(_) => "LinkError",
        OpenError::Address { .. } => "AddressError",
        OpenError::NoAnswer { .. } => "NoAnswerError",
        OpenError::Refused { .. } => "RefusedError",
        OpenError::Format { .. } => "FormatError",
        OpenError::Offer { .. } | OpenError::PeerTerms { .. } => "OfferError",
        OpenError::Apart { .. } => "ApartError",
        OpenError::Start { .. } => "StartError",
        OpenError::Terms(_) => "TermsError",
        OpenError::OptionRange { .. } | OpenError::Streams { .. } => "OptionError",
        OpenError::Contradiction { .. } => "ContradictionError",
        OpenError::StreamTwice { .. } => "StreamTwiceError",
        OpenError::RealTime(_) => "RealTimeError",
        OpenError::Pool(_) => "PoolError",
        OpenError::PortFull { .. } => "PortFullError",
        OpenError::PortGone { .. } => "PortGoneError",
        OpenError::System(_) => "SystemCallError",
        _ => "OpenError",
    };
    with(py, name, error.to_string(), |fields| match error {
        OpenError::NoAnswer { address, waited, is_unreachable, .. } => {
            no_answer(fields, *address, *waited, *is_unreachable)
        }
        OpenError::Refused { address, stream, reason, retry_ms } => {
            fields.set_item("address", address.to_string())?;
            fields.set_item("stream", stream)?;
            fields.set_item("reason", format!("{reason:?}"))?;
            fields.set_item("retry_ms", retry_ms)
        }
        OpenError::OptionRange { option, value, range } => {
            fields.set_item("option", option)?;
            fields.set_item("value", value)?;
            fields.set_item("range", range)
        }
        OpenError::Streams { streams, max } => {
            fields.set_item("option", "streams")?;
            fields.set_item("value", streams)?;
            fields.set_item("range", format!("1 to {max}"))
        }
        OpenError::Contradiction { one, other, hint } => {
            fields.set_item("one", one)?;
            fields.set_item("other", other)?;
            fields.set_item("hint", hint)
        }
        OpenError::StreamTwice { stream } => fields.set_item("stream", stream),
        _ => Ok(()),
    })
}

/// An `OptionError` for the package's Python half, in the words that the library uses.
#[pyfunction]
pub(crate) fn out_of_range<'py>(
    py: Python<'py>,
    option: &str,
    value: Bound<'py, PyAny>,
    range: &str,
) -> Bound<'py, pyo3::exceptions::PyBaseException> {
    let message = OutOfRange(option, &value, range).to_string();
    let error = with(py, "OptionError", message, |fields| {
        fields.set_item("option", option)?;
        fields.set_item("value", &value)?;
        fields.set_item("range", range)
    });
    error.into_value(py).into_bound(py)
}

/// The device at `address` opened a stream, but granted no credit.
pub(crate) fn no_credit(py: Python<'_>, address: SocketAddr, waited: Duration) -> PyErr {
    let message = format!(
        "{address} opened the stream, and did not say within {} s how much it takes",
        waited.as_secs_f64()
    );
    with(py, "NoAnswerError", message, |fields| no_answer(fields, address, waited, false))
}

fn no_answer(
    fields: &Bound<'_, PyDict>,
    address: SocketAddr,
    waited: Duration,
    is_unreachable: bool,
) -> PyResult<()> {
    fields.set_item("address", address.to_string())?;
    fields.set_item("waited_s", waited.as_secs_f64())?;
    fields.set_item("is_unreachable", is_unreachable)
}

pub(crate) fn link_error(py: Python<'_>, link: &LinkError) -> PyErr {
    error(py, "LinkError", link.to_string())
}

/// The error of an unexpected end; `None` for a requested one.
pub(crate) fn end_error(py: Python<'_>, end: &End) -> Option<PyErr> {
    let name = match end {
        End::Finished { .. } | End::Cancelled | End::ClosedByPeer(CloseReason::Finished) => {
            return None;
        }
        End::ClosedByPeer(_) => "ClosedByPeerError",
        End::PeerRestarted => "PeerRestartedError",
        End::PeerSilent => "PeerSilentError",
        End::CircuitBreaker => "CircuitBreakerError",
        End::QueuePairFailed => "QueuePairFailedError",
        End::Violation(_) => "ViolationError",
    };
    let message = format!("{:#}", end.words("the peer"));
    Some(with(py, name, message, |fields| match end {
        End::ClosedByPeer(reason) => fields.set_item("reason", format!("{reason:?}")),
        _ => Ok(()),
    }))
}

/// Why no block comes any more; `None` if the stream is complete.
pub(crate) fn receive_error(py: Python<'_>, receive: &ReceiveError) -> Option<PyErr> {
    match receive {
        ReceiveError::Closed(end) | ReceiveError::Broken(end) => end_error(py, end),
        ReceiveError::Link(link) => Some(link_error(py, link)),
        ReceiveError::Stream { stream, error } => {
            receive_error(py, error).map(|error| of_stream(py, error, *stream))
        }
        ReceiveError::Apart { stream, next, at } => {
            Some(with(py, "StreamsApartError", receive.to_string(), |fields| {
                fields.set_item("stream", stream)?;
                fields.set_item("next", next)?;
                fields.set_item("at", at)
            }))
        }
        _ => Some(error(py, "PortFailedError", receive.to_string())),
    }
}

/// The same exception, of one of several streams.
fn of_stream(py: Python<'_>, error: PyErr, stream: u16) -> PyErr {
    let exception = error.value(py);
    let name = || {
        exception.setattr("args", (format!("stream {stream}: {exception}"),))?;
        exception.setattr("stream", stream)
    };
    name().err().unwrap_or(error.clone_ref(py))
}

pub(crate) fn transmit_error(py: Python<'_>, transmit: &SendError) -> PyErr {
    match transmit {
        SendError::Ended(end) => session_error(py, end),
        SendError::Port(_) => error(py, "PortFailedError", transmit.to_string()),
        _ => PyValueError::new_err(transmit.to_string()),
    }
}

/// A finished session takes no more samples, however it ended.
fn session_error(py: Python<'_>, ended: &SessionEnd) -> PyErr {
    end_error(py, &ended.end).unwrap_or_else(|| {
        let message = format!("the session is over: {}", ended.end.words("the peer"));
        error(py, "EndedError", message)
    })
}

/// The text names no source.
pub(crate) fn spec_error(py: Python<'_>, spec: &SpecError) -> PyErr {
    of_kind(py, "SourceError", spec.to_string(), "Io")
}

pub(crate) fn source_error(py: Python<'_>, source: &SourceError) -> PyErr {
    of_kind(py, "SourceError", source.to_string(), &format!("{source:?}"))
}

pub(crate) fn sink_error(py: Python<'_>, sink: &SinkError) -> PyErr {
    of_kind(py, "SinkError", sink.to_string(), &format!("{sink:?}"))
}

/// The variant's name is the first word of what `Debug` says.
fn of_kind(py: Python<'_>, name: &str, message: String, debug: &str) -> PyErr {
    let kind = debug.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    with(py, name, message, |fields| fields.set_item("kind", kind))
}

/// An exception with attributes. Classes are looked up where one is raised: nothing is kept between
/// calls.
fn with(
    py: Python<'_>,
    name: &str,
    message: String,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let exception = class(py, name)?.call1((message,))?;
        let fields = PyDict::new(py);
        fill(&fields)?;
        for (field, value) in &fields {
            exception.setattr(field.cast::<pyo3::types::PyString>()?, value)?;
        }
        Ok(PyErr::from_value(exception))
    };
    make().unwrap_or_else(|error| error)
}
