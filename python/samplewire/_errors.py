"""Exceptions: one class for each error of the library, all under `Error`."""


class Error(Exception):
    """Anything that a stream, a recording or a device failed of."""


class OpenError(Error):
    """A stream was not opened."""


class AddressError(OpenError, ValueError):
    """The text is no address, or its name is not known."""


class NoAnswerError(OpenError, TimeoutError):
    """Nothing answered.

    Attributes
    ----------
    address : str
        The device's address.
    waited_s : float
        How long it was tried, in seconds.
    is_unreachable : bool
        The network said that nothing listens there.
    """

    address: str
    waited_s: float
    is_unreachable: bool


class RefusedError(OpenError):
    """The device refused.

    Attributes
    ----------
    address : str
        The device's address.
    stream : int
        The number of the stream.
    reason : str
        Why, as the protocol names it.
    retry_ms : int
        When another attempt makes sense, in milliseconds; 0 = never.
    """

    address: str
    stream: int
    reason: str
    retry_ms: int


class FormatError(OpenError):
    """The device sends a format that this version does not know."""


class OfferError(OpenError):
    """The device's terms contradict each other."""


class ApartError(OpenError):
    """Streams cannot be aligned: they are of different runs, sample rates or formats."""


class StartError(OpenError):
    """A stream does not begin at the index at which it was asked to."""


class TermsError(OpenError, ValueError):
    """A term is out of range."""


class OptionError(OpenError, ValueError):
    """An option is out of range.

    Attributes
    ----------
    option : str
        Which.
    value : int or str
        The value given.
    range : str
        The allowed values in words, such as ``1 to 2^24 packets``.
    """

    option: str
    value: int | str
    range: str


class ContradictionError(OpenError, ValueError):
    """Two choices exclude each other.

    Attributes
    ----------
    one, other : str
        The two, with their values.
    hint : str
        What to do instead.
    """

    one: str
    other: str
    hint: str


class StreamTwiceError(OpenError, ValueError):
    """A stream was named more than once.

    Attributes
    ----------
    stream : int
        Its number.
    """

    stream: int


class RealTimeError(OpenError, ValueError):
    """Real-time options are out of range, or contradict each other."""


class PoolError(OpenError, MemoryError):
    """The memory of the stream cannot be had."""


class PortFullError(OpenError):
    """The port has room for no more streams."""


class PortGoneError(OpenError):
    """The port has failed, or was closed."""


class SystemCallError(OpenError, OSError):
    """The operating system refused a thread or randomness."""


class LinkError(Error):
    """The socket failed, or the RDMA network card cannot be used."""


class EndedError(Error):
    """A stream broke off.

    Attributes
    ----------
    stream : int or None
        The number of the stream, where it is one of several that are aligned.
    """

    stream: int | None = None


class ClosedByPeerError(EndedError):
    """The peer closed the stream before it was over.

    Attributes
    ----------
    reason : str
        Why, as the protocol names it.
    """

    reason: str


class PeerRestartedError(EndedError):
    """The peer no longer knows the stream: it restarted, gave the stream to another, or received
    nothing from this end in time.
    """


class PeerSilentError(EndedError, TimeoutError):
    """Nothing was heard for the time after which a peer is dead."""


class CircuitBreakerError(EndedError):
    """More than half of all departures were repeats for long."""


class QueuePairFailedError(EndedError):
    """The queue pair of a stream over RDMA failed."""


class ViolationError(EndedError):
    """The peer broke a rule without which samples cannot be placed."""


class StreamsApartError(EndedError):
    """One of several aligned streams set its index on purpose, apart from the others.

    Attributes
    ----------
    stream : int
        The number of the stream.
    next : int
        The index that was to come.
    at : int
        The index at which the stream continued.
    """

    stream: int
    next: int
    at: int


class PortFailedError(Error):
    """The I/O thread of a stream or a device broke."""


class _KindError(Error):
    """An error of several kinds.

    Attributes
    ----------
    kind : str
        The name of the library's variant, e.g. `Exists`.
    """

    kind: str


class SinkError(_KindError):
    """A file cannot be opened or written; its `kind` is one of `samplewire::sink::SinkError`."""


class SourceError(_KindError):
    """A source cannot be opened or read; its `kind` is one of `samplewire::source::SourceError`."""


class ClosedError(Error):
    """The receiver or transmitter was closed."""


class ReleasedError(Error):
    """The block was released: its memory is the stream's again."""


class WaitTimeoutError(Error, TimeoutError):
    """Nothing came within the time that was given."""


class ForkError(Error):
    """What was opened in a process was used in its child, which has none of its threads."""


class WindowWarning(UserWarning):
    """The device holds fewer packets than the `window` that was chosen, and no more are used."""


class HeldMemoryWarning(UserWarning):
    """Blocks and arrays that are kept hold more than half of the stream's memory."""
