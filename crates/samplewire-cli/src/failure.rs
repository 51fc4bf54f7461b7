//! Why a command failed, and what to do next.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use samplewire::device::PortError;
use samplewire::sink::SinkError;
use samplewire::source::SourceError;
use samplewire::transmitter::PlayError;
use samplewire::verify::VerifyError;
use samplewire::{DeviceInfo, OpenError, ReceiveError};
use samplewire_io::LinkError;
use samplewire_io::faults::SpecError;
use samplewire_proto::wire::RefuseReason;

use crate::console::{Console, Lines};
use crate::decode::CaptureError;
use crate::figures::measured;
use crate::outcome::Outcome;
use crate::settings::SettingsError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The text names no address.
    #[error("`{text}` is no address that can be used: {source}")]
    Address { text: String, source: io::Error },
    /// Options from a file or a device string.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Two options contradict each other.
    #[error("{0}")]
    Contradiction(String),
    /// Faults that cannot be made.
    #[error("--fault {0}")]
    Faults(#[from] SpecError),
    /// The capture file cannot be written.
    #[error("{path}: {source}")]
    Capture { path: String, source: LinkError },
    /// The window takes more memory than there is.
    #[error(
        "--window {window}{} takes some {} of memory, {} are free",
        of_streams(*windows),
        measured(*needed_bytes as f64, "B"),
        measured(*available_bytes as f64, "B")
    )]
    Memory { window: u32, windows: u32, needed_bytes: u64, available_bytes: u64 },
    /// The source cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The device cannot listen.
    #[error("cannot listen: {0}")]
    Listen(OpenError),
    /// Nobody can ask what is counted.
    #[error("--metrics {address}: {source}")]
    Metrics { address: SocketAddr, source: io::Error },
    /// A ZeroMQ socket cannot be where it was to be.
    #[error("{name}: {source}")]
    Zmq { name: String, source: io::Error },
    /// There is nothing to show.
    #[error("no streams{}", if *has_others { " of these devices" } else { "" })]
    NoStreams { has_others: bool },
    /// The stream cannot be opened, or an option is out of range.
    #[error("{}", open_words(.0))]
    Open(#[from] OpenError),
    /// A stream broke off.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// A stream was named that the device does not have.
    #[error("{address} has no stream {stream}: {}", streams_words(*.streams))]
    StreamNumber { address: SocketAddr, stream: u16, streams: u16 },
    /// Samples did not come in a measurement with complete delivery.
    #[error("{missing} of {sent} samples did not come")]
    StudyMissing { missing: u64, sent: u64 },
    /// The other program of a comparison failed.
    #[error("iperf3 over {transport}: {words}")]
    Iperf3 { transport: &'static str, words: String },
    /// Nobody answered a question to everybody.
    #[error("no device answered on port {port}")]
    NobodyFound { port: u16 },
    /// The file cannot be created.
    #[error(transparent)]
    Create(SinkError),
    /// Playing broke off.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// A recording cannot be looked at.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The port of a device that plays broke.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A capture cannot be read, or not to its end.
    #[error("{path}: {source}")]
    Input { path: String, source: CaptureError },
    /// There is no folder to install into.
    #[error("HOME is not set: name the folder with --folder")]
    NoHome,
    /// A file cannot be written.
    #[error("{path}: {source}")]
    Output { path: String, source: io::Error },
    /// The system refused a signal handler, a thread or the like.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl Failure {
    /// Why a device does not listen. A choice that cannot be is no trouble of the port.
    pub(crate) fn of_listening(error: OpenError) -> Self {
        if is_usage(&error) { Self::Open(error) } else { Self::Listen(error) }
    }

    /// Asks the device how many streams it has, where it does not have the one that was named.
    pub(crate) fn counted(self) -> Self {
        let Self::Open(OpenError::Refused {
            address,
            stream,
            reason: RefuseReason::NoSuchStream,
            ..
        }) = self
        else {
            return self;
        };
        match samplewire::probe(address, PROBE_PATIENCE) {
            Ok(DeviceInfo { streams, .. }) => Self::StreamNumber { address, stream, streams },
            // What it said says enough.
            Err(_) => self,
        }
    }

    /// The exit status that tells of it.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            // The text is right, and no name server knows the name.
            Self::Address { source, .. } if source.kind() != io::ErrorKind::InvalidInput => {
                Outcome::Unreachable
            }
            Self::Open(error) if is_usage(error) => Outcome::Usage,
            Self::Open(_)
            | Self::StreamNumber { .. }
            | Self::NobodyFound { .. }
            | Self::NoStreams { .. } => Outcome::Unreachable,
            Self::Play(_) | Self::Receive(_) | Self::Port(_) | Self::StudyMissing { .. } => {
                Outcome::Missing
            }
            _ => Outcome::Usage,
        }
    }

    /// Prints the error, and what to do next, to standard error.
    pub(crate) fn print(&self) {
        let mut console = Console::new(Lines::Nowhere, false);
        console.error(format_args!("{self}"), self.tip().as_deref());
    }

    /// What to do next, where the text does not say so itself.
    fn tip(&self) -> Option<String> {
        match self {
            Self::Address { .. } => {
                Some("write HOST, HOST:PORT or [IPV6]:PORT; without a port it is 9100".into())
            }
            Self::Source(error) => source_tip(error),
            Self::Listen(OpenError::Link(LinkError::System { address, source, .. })) => {
                port_tip(*address, source, "ss -ulnp", "--listen")
            }
            Self::Metrics { address, source } => {
                port_tip(*address, source, "ss -tlnp", "--metrics")
            }
            Self::Zmq { source, .. } if source.kind() == io::ErrorKind::AddrInUse => Some(
                "`ss -tlnp` names the program that listens there; choose another port, or write \
                 connect:tcp://.. to go to it"
                    .into(),
            ),
            Self::NoStreams { has_others: true } => {
                Some("`samplewire top` alone shows the others".into())
            }
            Self::NoStreams { .. } => Some(
                "start `samplewire record ADDR FILE`, `samplewire emulate` or `samplewire demo`; \
                 another user's are seen by `top --from` and their --metrics"
                    .into(),
            ),
            Self::Open(OpenError::Refused { reason, .. }) => refuse_tip(*reason),
            Self::StreamNumber { .. } => refuse_tip(RefuseReason::NoSuchStream),
            Self::Memory { .. } | Self::Open(OpenError::Pool(_)) => Some(
                "choose a smaller one: 4 x rate x round trip, in packets, repairs 1 % of loss"
                    .into(),
            ),
            Self::Iperf3 { .. } => Some("--no-iperf3 leaves it out".into()),
            Self::NobodyFound { .. } => Some(
                "is it on this network, and does a firewall let UDP of that port through? \
                 `samplewire probe ADDR` asks one by its address"
                    .into(),
            ),
            Self::Input { source: CaptureError::Foreign { .. }, .. } => {
                Some("`tshark -r FILE -w OUT.pcapng` converts what Wireshark reads".into())
            }
            Self::Verify(VerifyError::NotThere { .. }) => Some(
                "name a SigMF recording: NAME, NAME.sigmf-meta or NAME.sigmf-data; raw samples tell \
                 of no index"
                    .into(),
            ),
            Self::Create(SinkError::Exists { .. }) => {
                let tip = "--overwrite replaces it; record --append goes on with a SigMF recording";
                Some(tip.into())
            }
            Self::Create(SinkError::Wrong { .. } | SinkError::Short { .. }) => {
                Some("`samplewire verify` tells what is wrong with it".into())
            }
            Self::Create(SinkError::Other { what: "streams", .. }) => {
                Some("--channels names the streams; else record to another file".into())
            }
            Self::Create(SinkError::Other { what: "format", .. }) => {
                Some("--format converts the format; else record to another file".into())
            }
            Self::Create(SinkError::Other { .. }) => Some("record to another file".into()),
            Self::Create(SinkError::Series { .. }) => {
                Some("--split SIZE goes on with it; or choose another name".into())
            }
            Self::Create(SinkError::Part { .. }) => Some("e.g. --split 4G".into()),
            Self::Create(SinkError::NoDirect { .. }) => {
                Some("leave --direct out, or record to another file system".into())
            }
            Self::Create(SinkError::Convert(_)) => {
                Some("leave --format out to keep the stream's own format".into())
            }
            _ => None,
        }
    }
}

/// Whether the command line is at fault.
const fn is_usage(error: &OpenError) -> bool {
    matches!(
        error,
        OpenError::OptionRange { .. }
            | OpenError::Contradiction { .. }
            | OpenError::StreamTwice { .. }
            | OpenError::RealTime(_)
            | OpenError::Pool(_)
    )
}

/// Options by their names on the command line.
fn open_words(error: &OpenError) -> String {
    match error {
        OpenError::OptionRange { option, value, range } => {
            let range = range.replace("..=", " to ");
            format!("--{} {value}: must be {range}", option.replace(' ', "-"))
        }
        OpenError::RealTime(error) => {
            let words = error.to_string().replacen("r slack", "r-slack", 1);
            format!("--{}", words.replace(" is not in ", ": must be ").replace("..=", " to "))
        }
        _ => error.to_string(),
    }
}

fn streams_words(streams: u16) -> String {
    match streams {
        1 => "its only one is stream 0".into(),
        _ => format!("it has {streams}, numbered from 0"),
    }
}

fn source_tip(error: &SourceError) -> Option<String> {
    match error {
        SourceError::Missing { option: "rate", .. } => Some(
            "give the samples' rate: --rate 2M, or --rate max:2M to play as fast as it goes".into(),
        ),
        SourceError::Missing { option, .. } => Some(format!("give it with --{option}")),
        SourceError::Truncated { .. } => Some(
            "copy the recording again; or is it of another --format, or of more --channels?".into(),
        ),
        SourceError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            let of_emulate = "-, counter, tone:FREQ, chirp, noise, scene or null";
            Some(format!("a source is a file; of emulate also {of_emulate}"))
        }
        _ => None,
    }
}

fn port_tip(address: SocketAddr, source: &io::Error, list: &str, option: &str) -> Option<String> {
    match source.kind() {
        io::ErrorKind::AddrInUse => Some(format!(
            "`{list} 'sport = :{port}'` names the program that has it; choose another port with \
             {option}",
            port = address.port()
        )),
        io::ErrorKind::AddrNotAvailable => Some(format!(
            "no interface has the address {}; `ip address` lists those that there are",
            address.ip()
        )),
        _ => None,
    }
}

fn refuse_tip(reason: RefuseReason) -> Option<String> {
    let tip = match reason {
        RefuseReason::Busy => {
            "another receiver has the stream: wait until it ends, or take over with its --owner"
        }
        RefuseReason::PacketSize => {
            "the device's packets do not fit the path: raise --mtu here, or start the device with a \
             smaller --payload"
        }
        RefuseReason::Version => "use the same version of samplewire at both ends",
        RefuseReason::Role => {
            "the device has no stream of that way: record receives what a device sends, replay sends \
             to one that plays (emulate --play)"
        }
        RefuseReason::StartIndex => {
            "that index has passed, or lies too far ahead: `samplewire probe` tells where the device \
             is. replay starts from there with --at +TIME; for streams that are opened together the \
             device answered too late: try again"
        }
        RefuseReason::Window => "choose a larger --window",
        RefuseReason::NoSuchStream => {
            "`samplewire probe` lists the device's streams; --channels names streams by their \
             numbers, and the channels of a stream are recorded all"
        }
        _ => return None,
    };
    Some(tip.into())
}

/// How long a device that has just answered is asked once more.
const PROBE_PATIENCE: Duration = Duration::from_secs(1);

fn of_streams(windows: u32) -> String {
    if windows > 1 { format!(" of {windows} streams") } else { String::new() }
}
