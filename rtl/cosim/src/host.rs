//! One host: opens a stream of a board, receives it, and accounts for every index.

use samplewire_proto::receiver::{
    Delivered, Delivery, Placement, REPORT_BYTES, Receiver, ReceiverConfig, ReceiverStats, RecvSlot,
};
use samplewire_proto::session::{AcceptInfo, OpenConfig, OpenEvent, Opener};
use samplewire_proto::stream::{Carriage, End, Terms};
use samplewire_proto::wire::{self, Format, Packet, Role};
use samplewire_proto::{Gap, Nanos};

use crate::pattern;

/// What a host does.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Names the program: the same owner takes a stream over.
    pub owner: u64,
    /// Seeds nonces and tags.
    pub seed: [u8; 16],
    /// Packets that the host has room for.
    pub window: u32,
    /// The largest IP packet that the host takes, in bytes.
    pub packet_bytes_max: u16,
    /// What is delivered.
    pub delivery: Delivery,
    /// How long the host tries to open.
    pub open_timeout: Nanos,
}

/// The state of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Standing {
    /// It requests the stream.
    Opening = 0,
    /// The stream flows, or is closing.
    Streaming = 1,
    /// The sender closed, and everything is accounted for.
    Finished = 2,
    /// The stream ended otherwise.
    Broken = 3,
    /// It was not opened.
    Refused = 4,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    config: HostConfig,
    state: State,
    account: Account,
}

/// What a host knows of the stream's indexes.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The first index of the stream.
    pub first_index: u64,
    /// The index after the last one delivered or reported missing.
    pub next_index: u64,
    /// Samples delivered.
    pub delivered: u64,
    /// Samples in gaps.
    pub missing: u64,
    /// Gaps that wait to be fetched.
    pub gaps: Vec<Gap>,
    /// Samples that a jump with START left out.
    pub jumped: u64,
    /// The first thing that was wrong.
    pub fault: Option<String>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one host in a bench")]
enum State {
    Opening(Opener),
    Streaming(Stream),
    Over { standing: Standing, words: String, stats: ReceiverStats },
}

#[derive(Debug)]
struct Stream {
    receiver: Receiver<Vec<RecvSlot>>,
    info: AcceptInfo,
    payloads: Vec<u8>,
    sample_bytes: u64,
}

impl Host {
    /// Starts to open at `now`.
    ///
    /// # Panics
    /// A choice of `config` is out of its range.
    pub fn new(config: HostConfig, now: Nanos) -> Self {
        let open = OpenConfig::new(Role::Receive, 0, config.owner)
            .with_window(config.window)
            .and_then(|open| open.with_packet_bytes_max(config.packet_bytes_max))
            .and_then(|open| open.with_timeout(config.open_timeout))
            .expect("the bench chooses within the ranges");
        let opener = Opener::new(open, config.seed, now);
        Self { config, state: State::Opening(opener), account: Account::default() }
    }

    /// Takes a UDP payload that came from the board, with CE on its packet or without.
    pub fn handle(&mut self, now: Nanos, bytes: &[u8], is_marked: bool) {
        let Ok((header, packet)) = wire::parse(bytes) else { return };
        match &mut self.state {
            State::Opening(opener) => opener.handle(now, &header, &packet, bytes.len()),
            State::Streaming(stream) => match packet {
                Packet::Data(body) => stream.handle_data(now, &header, body, is_marked),
                _ => {
                    stream.receiver.handle(now, &header, &packet);
                }
            },
            State::Over { .. } => {}
        }
        self.run(now);
    }

    /// Does what is due.
    pub fn run(&mut self, now: Nanos) {
        match &mut self.state {
            State::Opening(opener) => match opener.poll_event() {
                Some(OpenEvent::Accepted(info)) => self.begin(now, info),
                Some(event) => self.end(Standing::Refused, format!("{event:?}")),
                None => {}
            },
            State::Streaming(stream) => {
                stream.receiver.handle_timeout(now);
                stream.deliver(now, &mut self.account);
                let limit = stream.receiver.promise_end();
                if stream.receiver.limit().distance(limit) < 0 {
                    stream.receiver.grant(limit);
                }
                match stream.receiver.poll_event() {
                    Some(End::Finished { final_index }) => {
                        self.account.check_end(final_index);
                        self.end(Standing::Finished, format!("finished at {final_index}"));
                    }
                    Some(end) => self.end(Standing::Broken, format!("{end:?}")),
                    None => {}
                }
            }
            State::Over { .. } => {}
        }
    }

    /// The next UDP payload for the board.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<usize> {
        let len = match &mut self.state {
            State::Opening(opener) => opener.poll_transmit(now, out),
            State::Streaming(stream) => {
                let mut report = [0; REPORT_BYTES];
                let len = stream.receiver.poll_transmit(now, &mut report)?;
                out[..len].copy_from_slice(&report[..len]);
                Some(len)
            }
            State::Over { .. } => None,
        };
        if len.is_none() {
            self.run(now);
        }
        len
    }

    /// When the host is to be run again; `None` when it is over.
    pub fn poll_timeout(&self, now: Nanos) -> Option<Nanos> {
        match &self.state {
            State::Opening(opener) => Some(opener.poll_timeout().unwrap_or(now)),
            State::Streaming(stream) => stream.receiver.poll_timeout(now),
            State::Over { .. } => None,
        }
    }

    /// Ends the stream from the host's side.
    pub fn cancel(&mut self, now: Nanos) {
        if let State::Streaming(stream) = &mut self.state {
            stream.receiver.cancel(now);
        }
    }

    /// How the host stands.
    pub const fn standing(&self) -> Standing {
        match &self.state {
            State::Opening(_) => Standing::Opening,
            State::Streaming(_) => Standing::Streaming,
            State::Over { standing, .. } => *standing,
        }
    }

    /// What is known of the indexes.
    pub const fn account(&mut self) -> &mut Account {
        &mut self.account
    }

    /// The receiver's counters; zeros before the stream is open.
    pub fn stats(&self) -> ReceiverStats {
        match &self.state {
            State::Opening(_) => ReceiverStats::default(),
            State::Streaming(stream) => *stream.receiver.stats(),
            State::Over { stats, .. } => *stats,
        }
    }

    /// The tag that the host chose and the board's boot id, once the stream is open.
    pub const fn names(&self) -> Option<(u32, u64)> {
        match &self.state {
            State::Streaming(stream) => Some((stream.info.peer_tag.0, stream.info.boot_id)),
            _ => None,
        }
    }

    /// The index that the board accepted the stream at, and its TAI time, 0 = unknown.
    pub fn accepted(&self) -> Option<(u64, u64)> {
        match &self.state {
            State::Streaming(stream) => {
                let params = &stream.info.params;
                Some((params.first_index, params.time_ns))
            }
            _ => None,
        }
    }

    /// How the stream ended, in words.
    pub fn words(&self) -> &str {
        match &self.state {
            State::Opening(_) => "opening",
            State::Streaming(_) => "streaming",
            State::Over { words, .. } => words,
        }
    }

    fn begin(&mut self, now: Nanos, info: AcceptInfo) {
        match Stream::new(&self.config, info, now) {
            Ok(mut stream) => {
                let first = info.params.first_index;
                self.account.first_index = first;
                self.account.next_index = first;
                stream.receiver.grant(stream.receiver.promise_end());
                self.state = State::Streaming(stream);
                self.run(now);
            }
            Err(words) => {
                self.account.fail(words.clone());
                self.end(Standing::Broken, words);
            }
        }
    }

    fn end(&mut self, standing: Standing, words: String) {
        let stats = self.stats();
        self.state = State::Over { standing, words, stats };
    }
}

impl Stream {
    fn new(config: &HostConfig, info: AcceptInfo, now: Nanos) -> Result<Self, String> {
        let params = &info.params;
        // More places than the sender has would only make REPORTs rarer: they go by the window.
        let window = config.window.min(params.window.max(1));
        let terms = Terms {
            local_tag: info.tag,
            peer_tag: info.peer_tag,
            is_opener: true,
            first_seq: params.first_seq,
            first_index: params.first_index,
            packet_samples: params.packet_samples,
            payload_bytes: params.payload_bytes,
            payload_offset: params.payload_offset,
            window,
            reorder_tolerance: params.reorder_tolerance,
            dead_after: Nanos::from_millis(params.dead_ms.into()),
            idle_after: Nanos::from_millis(params.idle_ms.into()),
            ranges_max: params.ranges_max,
            rtt: info.rtt,
            carriage: Carriage::Data,
        };
        let slots = (window as usize).next_power_of_two();
        let receiver_config = ReceiverConfig::new()
            .with_delivery(config.delivery)
            .map_err(|error| format!("delivery: {error}"))?;
        let receiver = Receiver::new(terms, receiver_config, vec![RecvSlot::default(); slots], now)
            .map_err(|error| format!("terms: {error}"))?;
        let format = Format::from_number(params.format)
            .ok_or_else(|| format!("format {} is unknown", params.format))?;
        let sample_bytes = (format.sample_bytes() * usize::from(params.channels)) as u64;
        let payloads = vec![0; slots * usize::from(params.payload_bytes)];
        Ok(Self { receiver, info, payloads, sample_bytes })
    }

    fn handle_data(&mut self, now: Nanos, header: &wire::Header, body: &[u8], is_marked: bool) {
        let placement = self.receiver.handle_data(now, header, body, is_marked);
        if let Placement::Store { seq, payload_at } = placement {
            let payload = &body[payload_at..];
            let place = self.place(seq.0);
            self.payloads[place..place + payload.len()].copy_from_slice(payload);
        }
    }

    fn deliver(&mut self, now: Nanos, account: &mut Account) {
        while let Some(delivered) = self.receiver.poll_delivery(now) {
            match delivered {
                Delivered::Packet { seq, index, samples, .. } => {
                    let len = (u64::from(samples) * self.sample_bytes) as usize;
                    let place = self.place(seq.0);
                    let bytes = &self.payloads[place..place + len];
                    if !pattern::is_counter(index * self.sample_bytes, bytes) {
                        account.fail(format!("packet {seq} at index {index} has wrong bytes"));
                    }
                    account.take_samples(index, samples.into());
                }
                Delivered::Gap(gap) => account.take_gap(gap),
                Delivered::Skipped { .. } => {}
            }
        }
    }

    fn place(&self, seq: u32) -> usize {
        let len = usize::from(self.info.params.payload_bytes);
        (seq as usize & (self.payloads.len() / len - 1)) * len
    }
}

impl Account {
    fn take_samples(&mut self, index: u64, samples: u64) {
        if index < self.next_index {
            self.fail(format!("index {index} came after {}", self.next_index));
        }
        // What a jump leaves out was announced by START, or the receiver's account had ended the
        // stream: docs/protocol.md#6.2.
        self.jumped += index.saturating_sub(self.next_index);
        self.delivered += samples;
        self.next_index = index + samples;
    }

    fn take_gap(&mut self, gap: Gap) {
        let len = gap.not_repaired + gap.source_lost;
        if gap.first != self.next_index {
            self.fail(format!("a gap at {} where {} was due", gap.first, self.next_index));
        }
        self.missing += len;
        self.next_index = gap.first + len;
        self.gaps.push(gap);
    }

    fn check_end(&mut self, final_index: u64) {
        if self.next_index != final_index {
            self.fail(format!("the account ends at {}, not {final_index}", self.next_index));
        }
    }

    fn fail(&mut self, words: String) {
        self.fault.get_or_insert(words);
    }
}
