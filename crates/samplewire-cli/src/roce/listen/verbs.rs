//! An RDMA network card receives, in memory that it writes to.

use std::io;
use std::thread;
use std::time::Duration;

use samplewire_io::verbs::{
    CounterFiles, DeviceCounters, Peer, Received, Receiver, ReceiverConfig,
};
use samplewire_proto::Rng;
use samplewire_roce::{PathMtu, Psn};

use super::super::exchange::LineError;
use super::super::line::Line;
use super::super::{RoceError, seed};
use super::end::{Counters, End, Ended, Turn};
use super::kept::Kept;
use super::software::REGION_ADDRESS;
use crate::arguments::ListenArguments;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// A receiver of the card, and what is known of the connection.
pub(super) struct Verbs<'a> {
    arguments: &'a ListenArguments,
    rng: Rng,
    receiver: Receiver,
    counters: CounterFiles,
    before: DeviceCounters,
    /// Packets of the card at the last look.
    packets: Option<u64>,
    messages: u64,
    /// Bytes of the writes that were reported: those with immediate data.
    written: u64,
}

impl<'a> Verbs<'a> {
    pub(super) fn open(arguments: &'a ListenArguments, device: &str) -> Result<Self, RoceError> {
        let receiver = Receiver::open(&ReceiverConfig {
            device: device.to_owned(),
            address: arguments.station.ip,
            gid_index: arguments.gid_index,
            receives: arguments.receives,
            message_bytes: arguments.message,
            region_bytes: arguments.region,
            region_address: REGION_ADDRESS,
        })?;
        Ok(Self {
            arguments,
            rng: Rng::new(seed()),
            receiver,
            counters: CounterFiles::open(device),
            before: DeviceCounters::default(),
            packets: None,
            messages: 0,
            written: 0,
        })
    }
}

impl End for Verbs<'_> {
    /// The system answers for the card's address.
    fn idle(&mut self, limit: Duration) -> Result<(), Failure> {
        // Events without a connection mean nothing, but they would end the wait.
        drop(self.receiver.failure());
        Ok(self.receiver.wait(limit)?)
    }

    fn connect(
        &mut self,
        peer: &Line,
        is_live: bool,
        interrupt: &Interrupt,
    ) -> Result<Line, RoceError> {
        let options = &self.arguments.station;
        let psn = Psn::new(options.psn.unwrap_or(self.rng.draw() as u32));
        let bytes = options.mtu.bytes().min(self.receiver.card().mtu_bytes());
        let mtu = peer.mtu_with(PathMtu::from_bytes(bytes).expect("both are path MTUs"));
        let far = Peer {
            address: peer.address,
            qpn: peer.qpn,
            psn: peer.psn,
            own_psn: psn.get(),
            mtu_bytes: mtu.bytes(),
        };
        let qpn = loop {
            match self.receiver.connect(&far) {
                // A peer that says nothing may start later.
                Err(error) if error.is_unreachable() && !is_live => {
                    if interrupt.signal().is_some() {
                        return Err(RoceError::Interrupted);
                    }
                    self.receiver
                        .wait(RETRY_PERIOD)
                        .map_err(LineError::from)
                        .map_err(RoceError::Line)?;
                }
                connected => break connected?,
            }
        };
        self.before = self.counters.read();
        self.packets = self.before.packets;
        Ok(Line {
            address: options.ip,
            qpn,
            psn: psn.get(),
            mtu: mtu.bytes(),
            rkey: self.receiver.remote_key(),
            region_address: self.receiver.region_address(),
            region_bytes: self.receiver.region_bytes(),
        })
    }

    fn turn(&mut self, kept: &mut Kept) -> Result<Turn, Failure> {
        let mut turn = Turn::default();
        for _ in 0..TURN_COMPLETIONS_MAX {
            let kept = match self.receiver.poll().map_err(RoceError::from)? {
                None => break,
                Some(Received::Message { quantum, immediate }) => {
                    self.messages += 1;
                    kept.message(quantum.data(), immediate)
                }
                Some(Received::Written { len_bytes, immediate }) => {
                    self.messages += 1;
                    self.written += u64::from(len_bytes);
                    kept.message(&[], Some(immediate))
                }
                Some(Received::Failed { words, .. }) => {
                    turn.fault = Some(ended_words(&words));
                    break;
                }
            };
            turn.has_come = true;
            if let Err(error) = kept {
                turn.fault = Some(error.to_string());
                break;
            }
        }
        turn.has_more = turn.has_come && turn.fault.is_none();
        self.receiver.post().map_err(RoceError::from)?;
        if let Some(words) = self.receiver.failure() {
            turn.fault = Some(ended_words(&words));
        }
        // Writes without immediate data are not reported, but their packets are counted.
        if !turn.has_come {
            let packets = self.counters.packets();
            turn.has_come = packets != self.packets;
            self.packets = packets;
        }
        Ok(turn)
    }

    fn wait(&mut self, limit: Duration) -> io::Result<()> {
        self.receiver.wait(limit)
    }

    /// The card does not report what was written without immediate data: the peer's count decides, or
    /// else the whole region may have been written.
    fn end(&mut self, stated: Option<u64>) -> Ended {
        self.receiver.end();
        thread::sleep(COUNTERS_PERIOD);
        let after = self.counters.read();
        let region_bytes = self.receiver.region_bytes();
        let stated = stated.filter(|bytes| *bytes <= region_bytes);
        let came = |after: Option<u64>, before| Some(after?.wrapping_sub(before?));
        let counters = Counters {
            packets: came(after.packets, self.before.packets),
            duplicates: came(after.duplicates, self.before.duplicates),
            out_of_order: came(after.out_of_order, self.before.out_of_order),
            requests_marked: came(after.marked, self.before.marked),
            cnp_sent: came(after.cnp_sent, self.before.cnp_sent),
            frames_invalid: came(after.invalid, self.before.invalid),
        };
        let unknown = if counters.packets == Some(0) { 0 } else { region_bytes };
        let ended = Ended {
            messages: self.messages,
            written: self.written.max(stated.unwrap_or(0)),
            region_end: stated.unwrap_or(unknown),
            counters,
        };
        (self.messages, self.written) = (0, 0);
        ended
    }

    fn region(&self) -> &[u8] {
        self.receiver.region().expect("the connection has ended")
    }

    fn clear(&mut self) {
        self.receiver.region_mut().expect("the connection has ended").fill(0);
    }
}

fn ended_words(words: &str) -> String {
    format!("the network card has ended the connection: {words}")
}

/// Between two looks at the exchange; as many as there are receive requests at most.
const TURN_COMPLETIONS_MAX: usize = 256;

/// How soon the system looks again for a peer that it has not found.
const RETRY_PERIOD: Duration = Duration::from_millis(200);

/// The system reads the counters of a card every 10 ms at most (`lifespan` beside them), in ticks of
/// its clock that are up to 10 ms long.
const COUNTERS_PERIOD: Duration = Duration::from_millis(20);
