//! One survey of all processes and their streams.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::ports::{Port, ports};
use crate::metrics::client::{self, Endpoint, FetchError};
use crate::metrics::counters::RECEIVER;
use crate::metrics::local;
use crate::metrics::tables::{GAP_SAMPLES, RECORDING};
use crate::metrics::text::Sample;

/// Knows which processes to query, and for which devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Surveyor {
    /// The devices whose streams are shown; empty for all.
    pub(super) wanted: Vec<SocketAddr>,
    /// Processes that are queried over TCP, in addition to those of this user.
    pub(super) from: Vec<SocketAddr>,
}

/// The answers of all processes.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Number of processes that answered.
    pub(super) processes: usize,
    /// Where they did.
    pub(super) answered: Vec<Endpoint>,
    /// In the order of [`sort_by_process`].
    pub(super) streams: Vec<Facts>,
    /// Ports of switches, ordered by endpoint and name; none where devices are asked for.
    pub(super) ports: Vec<Port>,
    /// Whether there are streams of other devices.
    pub(super) has_others: bool,
    /// Errors, one line for each process or folder.
    pub(super) errors: Vec<String>,
}

/// Identifies a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) endpoint: Endpoint,
    pub(super) device: String,
    pub(super) stream: String,
    pub(super) direction: String,
}

/// A stream as its process describes it.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// When the process answered.
    pub(super) at: Instant,
    pub(super) key: Key,
    pub(super) pid: String,
    pub(super) verb: String,
    /// Whether `samplewire web` can show its samples.
    pub(super) has_page: bool,
    /// Empty while the device is not open.
    pub(super) peer: String,
    pub(super) name: String,
    pub(super) format: String,
    pub(super) channels: String,
    /// Numbers by name, without the common prefix.
    pub(super) numbers: BTreeMap<String, f64>,
    /// Missing samples by cause: of the recording if there is one, else of the stream.
    pub(super) causes: BTreeMap<String, f64>,
}

impl Surveyor {
    /// Queries all processes.
    ///
    /// # Blocking
    /// Briefly if every process answers. Up to a second for processes that do not, and another
    /// second for each [`ASKED_AT_ONCE`] more.
    pub(super) fn look(&self) -> Survey {
        let (mut endpoints, errors) = local::sweep();
        endpoints.extend(self.from.iter().copied().map(Endpoint::Tcp));
        let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let (mut answered, mut streams, mut of_switches) = (Vec::new(), Vec::new(), Vec::new());
        for Answer { endpoint, at, page } in ask(endpoints) {
            match page {
                Ok(samples) => {
                    streams.extend(facts(&endpoint, &samples, at));
                    of_switches.extend(ports(&endpoint, &samples, at));
                    answered.push(endpoint);
                }
                // It has ended in the meantime.
                Err(_) if matches!(&endpoint, Endpoint::Local(path) if !path.exists()) => {}
                Err(error) => errors.push(error.to_string()),
            }
        }
        let all = streams.len();
        streams.retain(|facts| self.wants(facts));
        let has_others = streams.len() < all;
        sort_by_process(&mut streams);
        streams.truncate(STREAMS_MAX);
        // A port belongs to no device.
        of_switches.truncate(if self.wanted.is_empty() { PORTS_MAX } else { 0 });
        let processes = answered.len();
        Survey { processes, answered, streams, ports: of_switches, has_others, errors }
    }

    pub(super) fn wants(&self, facts: &Facts) -> bool {
        let is_local = matches!(facts.key.endpoint, Endpoint::Local(_));
        let is_wanted = |address: &SocketAddr| {
            let is_it = |text: &str| {
                text.parse::<SocketAddr>().is_ok_and(|it| {
                    // A device that listens at every address of this host.
                    let is_at_every = is_local && it.ip().is_unspecified();
                    it == *address || is_at_every && it.port() == address.port()
                })
            };
            is_it(&facts.key.device) || is_it(&facts.peer)
        };
        self.wanted.is_empty() || self.wanted.iter().any(is_wanted)
    }
}

/// Sorts by key, but processes of this host by number: as text, the path of process 10000 sorts before
/// that of 9999.
pub(super) fn sort_by_process(streams: &mut [Facts]) {
    streams.sort_by_cached_key(|facts| {
        let number = match facts.key.endpoint {
            Endpoint::Local(_) => facts.pid.parse::<u32>().unwrap_or(0),
            // Behind all of this host.
            Endpoint::Tcp(_) => u32::MAX,
        };
        (number, facts.key.clone())
    });
}

/// The answer of a process, or its error.
struct Answer {
    endpoint: Endpoint,
    /// When it came.
    at: Instant,
    page: Result<Vec<Sample>, FetchError>,
}

/// Queries several processes in parallel, so that a slow one delays few others; in the order of
/// endpoints.
fn ask(endpoints: Vec<Endpoint>) -> Vec<Answer> {
    let threads = endpoints.len().min(ASKED_AT_ONCE);
    let rest = Mutex::new(endpoints.into_iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let ask_on = || {
        let answer = |endpoint| {
            let page = client::fetch(&endpoint);
            Answer { endpoint, at: Instant::now(), page }
        };
        std::iter::from_fn(next).map(answer).collect::<Vec<_>>()
    };
    let mut answers = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, ask_on).ok();
        // Without free threads, the existing ones take longer.
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let own = ask_on();
        let of_others = others.into_iter().flat_map(|it| it.join().expect("asking does not panic"));
        own.into_iter().chain(of_others).collect::<Vec<_>>()
    });
    answers.sort_by(|one, other| one.endpoint.cmp(&other.endpoint));
    answers
}

/// The streams of one page, received at `at`.
pub(super) fn facts(endpoint: &Endpoint, samples: &[Sample], at: Instant) -> Vec<Facts> {
    let process = samples.iter().find(|sample| sample.name == "samplewire_info");
    let of_process = |label| process.map(|it| plain(it.label(label))).unwrap_or_default();
    let (pid, verb) = (of_process("pid"), of_process("verb"));
    let has_page = of_process("page") == "true";
    let mut streams: BTreeMap<Key, Facts> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.name == "samplewire_stream_info") {
        let key = key(endpoint, sample);
        let label = |name| plain(sample.label(name));
        let facts = Facts {
            at,
            pid: pid.clone(),
            verb: verb.clone(),
            has_page,
            peer: label("peer"),
            name: label("name"),
            format: label("format"),
            channels: label("channels"),
            numbers: BTreeMap::new(),
            causes: BTreeMap::new(),
            key: key.clone(),
        };
        streams.insert(key, facts);
    }
    let of_stream = format!("{}{GAP_SAMPLES}", RECEIVER.prefix);
    let of_recording = format!("{}{GAP_SAMPLES}", RECORDING.prefix);
    let recorded: BTreeSet<Key> = samples
        .iter()
        .filter(|sample| sample.name == of_recording)
        .map(|sample| key(endpoint, sample))
        .collect();
    for sample in samples {
        let key = key(endpoint, sample);
        let Some(facts) = streams.get_mut(&key) else { continue };
        if sample.name == of_recording || sample.name == of_stream && !recorded.contains(&key) {
            facts.causes.insert(plain(sample.label("cause")), sample.value);
        } else if let Some(name) = sample.name.strip_prefix(PREFIX)
            && ["cause", "hop", "le"].iter().all(|label| sample.label(label).is_empty())
        {
            facts.numbers.insert(name.to_owned(), sample.value);
        }
    }
    streams.into_values().collect()
}

fn key(endpoint: &Endpoint, sample: &Sample) -> Key {
    let label = |name| plain(sample.label(name));
    Key {
        endpoint: endpoint.clone(),
        device: label("device"),
        stream: label("stream"),
        direction: label("direction"),
    }
}

/// A label in a form that can be printed.
pub(super) fn plain(text: &str) -> String {
    crate::plain::plain(text, LABEL_CHARS_MAX)
}

impl Facts {
    /// A number, 0 if it is absent.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.numbers.get(name).copied().unwrap_or(0.0)
    }

    pub(super) fn is_received(&self) -> bool {
        self.key.direction == "receive"
    }

    /// Samples that have come, or an upper bound of those that have departed: a sender counts
    /// packets, and some are not full.
    pub(super) fn samples(&self) -> f64 {
        if self.is_received() {
            self.number("receiver_samples_delivered_total")
        } else {
            self.number("sender_packets_total") * self.number("stream_packet_samples")
        }
    }

    /// Packets that came, or departed for the first time.
    pub(super) fn packets(&self) -> f64 {
        let name =
            if self.is_received() { "receiver_received_total" } else { "sender_packets_total" };
        self.number(name)
    }

    /// Packets that came as a retransmission, or departed again.
    pub(super) fn repaired(&self) -> f64 {
        let is_received = self.is_received();
        let name =
            if is_received { "receiver_repaired_total" } else { "sender_retransmissions_total" };
        self.number(name)
    }

    /// Missing samples. For a player these are the samples missing at their time, and include the
    /// stream's gaps.
    pub(super) fn lost(&self) -> f64 {
        let of_player = self.numbers.get("player_underrun_samples_total").copied();
        of_player.unwrap_or_else(|| self.causes.values().sum())
    }

    /// How much of the window is in use, from 0 to 1; `None` without a window.
    pub(super) fn window_share(&self) -> Option<f64> {
        let (window, used) = if self.is_received() {
            let window = self.number("receiver_port_window");
            (window, window - self.number("receiver_port_credit"))
        } else {
            (self.number("sender_port_window"), self.number("sender_port_held"))
        };
        (window > 0.0).then(|| (used / window).clamp(0.0, 1.0))
    }

    /// Smoothed round-trip time in seconds; 0 if it is unknown.
    pub(super) fn rtt(&self) -> f64 {
        let is_received = self.is_received();
        let name =
            if is_received { "receiver_port_rtt_seconds" } else { "sender_port_rtt_seconds" };
        self.number(name)
    }
}

/// The common prefix of all names.
const PREFIX: &str = "samplewire_";

/// Processes that are queried in parallel.
const ASKED_AT_ONCE: usize = 16;

/// Maximum number of streams shown.
const STREAMS_MAX: usize = 1_024;

/// Maximum number of ports shown.
const PORTS_MAX: usize = 1_024;

/// Longer names are cut to this length.
const LABEL_CHARS_MAX: usize = 256;
