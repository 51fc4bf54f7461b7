//! A switch of whole Ethernet frames: learns addresses, and forwards through the model
//! [`Switch`], which queues, marks and drops. One table of addresses serves all VLANs.
//!
//! Any bytes are forwarded or dropped. What it holds is bounded: frames by the buffer of the model,
//! 4,096 addresses, 1,024 flows of RoCE. It owns no clock and no socket; after
//! [`EtherSwitch::handle_frame`] call [`EtherSwitch::poll_transmit`] until it is `None`, then sleep
//! until [`EtherSwitch::poll_timeout`].

mod addresses;
mod cnp;
mod frames;
#[cfg(test)]
mod tests;

use samplewire_io::Ecn;
use samplewire_io::ether::{FRAME_BYTES_MAX, Headers};
use samplewire_proto::{Nanos, Odds, Rng};

use addresses::Addresses;
pub use cnp::CnpConfig;
use cnp::{Notice, Notifier};
use frames::{Frame, Frames};
use samplewire_roce::wire::Frame as RoceFrame;
use samplewire_switch::{FrameIn, Marking, Switch, SwitchConfig, SwitchConfigError};

/// What an Ethernet switch is set to. It sends and takes no PAUSE: what finds no room is dropped.
#[derive(Clone, Copy, Debug)]
pub struct EtherSwitchConfig {
    /// The buffer that all ports share.
    pub buffer_bytes: u64,
    /// ECN marks; `None`: it marks nothing.
    pub marking: Option<Marking>,
    /// The share of frames that are lost at random as they come in, 0 to 1.
    pub loss: f64,
    /// Of losses and marks.
    pub seed: u64,
    /// Congestion notifications of RoCE that the switch sends itself; `None`: it sends none.
    pub cnp: Option<CnpConfig>,
}

/// The switch.
#[derive(Debug)]
pub struct EtherSwitch {
    config: EtherSwitchConfig,
    model: Switch<Queued>,
    addresses: Addresses,
    frames: Frames,
    notifier: Option<Notifier>,
    ports: Box<[PortCounts]>,
    rng: Rng,
    /// The frame that left last, which its reader borrows.
    left: Option<Frame>,
}

/// A frame in the buffer.
#[derive(Debug)]
struct Queued {
    frame: Frame,
    headers: Headers,
    ingress: usize,
    kind: Kind,
}

/// What a frame is to the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Other,
    /// A congestion notification that came in.
    Cnp,
    /// One of this switch.
    Forged,
}

/// A frame that has left.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// Index of the port that it left by.
    pub port: usize,
    /// When its last byte left.
    pub at: Nanos,
    /// Its bytes, without FCS.
    pub bytes: &'a [u8],
}

/// What a switch has done at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Frames that came in.
    pub frames_in: u64,
    /// What they took of the wire, preamble and gap included.
    pub bytes_in: u64,
    /// Frames that left.
    pub frames_out: u64,
    /// What they took of the wire.
    pub bytes_out: u64,
    /// Of what came in by this port: what left by another, in bytes of its wire.
    pub bytes_forwarded: u64,
    /// Frames that left with a mark of this switch.
    pub marked: u64,
    /// Frames for this port that found no room in the buffer.
    pub dropped: u64,
    /// Frames that were lost at random as they came in.
    pub lost: u64,
    /// Frames that were not forwarded: link-local, for a station behind the same port, or not 14 to
    /// [`FRAME_BYTES_MAX`] bytes long.
    pub filtered: u64,
    /// Congestion notifications of RoCE that came in by another port and left by this one.
    pub cnp_forwarded: u64,
    /// Congestion notifications of the switch itself that left by this port.
    pub cnp_forged: u64,
    /// Congestion notifications that were due to a sender behind this port and were not sent: its
    /// queue pair is not known, or the buffer was full.
    pub cnp_refused: u64,
    /// The longest queue in bytes.
    pub queue_bytes_max: u64,
}

/// A contradiction in the settings of an Ethernet switch.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum EtherSwitchConfigError {
    /// Of the model.
    #[error(transparent)]
    Model(#[from] SwitchConfigError),
    /// It has one port or none.
    #[error("a switch of {0} ports has nothing to forward: 2 or more are needed")]
    Ports(usize),
    /// The loss is no share.
    #[error("loss of {0}: must be 0 to 1")]
    Loss(f64),
}

impl EtherSwitch {
    /// A switch with one port for each of these rates, in bits a second.
    ///
    /// # Errors
    /// See [`EtherSwitchConfigError`].
    pub fn new(
        config: EtherSwitchConfig,
        port_bps: &[u64],
    ) -> Result<Self, EtherSwitchConfigError> {
        if port_bps.len() < 2 {
            return Err(EtherSwitchConfigError::Ports(port_bps.len()));
        }
        if !(0.0..=1.0).contains(&config.loss) {
            return Err(EtherSwitchConfigError::Loss(config.loss));
        }
        let model =
            SwitchConfig { marking: config.marking, ..SwitchConfig::plain(config.buffer_bytes) };
        Ok(Self {
            config,
            model: Switch::new(model, port_bps, config.seed)?,
            addresses: Addresses::new(),
            frames: Frames::default(),
            notifier: config.cnp.map(Notifier::new),
            ports: vec![PortCounts::default(); port_bps.len()].into(),
            // Another sequence than that of the marks.
            rng: Rng::new(!config.seed),
            left: None,
        })
    }

    /// Takes a frame whose last byte came in by `port` at `now`.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn handle_frame(&mut self, now: Nanos, port: usize, bytes: &[u8]) {
        let wire_bytes = wire_bytes(bytes.len());
        let counts = &mut self.ports[port];
        counts.frames_in += 1;
        counts.bytes_in += u64::from(wire_bytes);
        if self.rng.chance(Odds::of(self.config.loss)) {
            counts.lost += 1;
            return;
        }
        let is_long = bytes.len() > FRAME_BYTES_MAX;
        let headers = Headers::parse(bytes).filter(|it| !is_long && !it.is_link_local());
        let Some(headers) = headers else {
            counts.filtered += 1;
            return;
        };
        self.addresses.learn(headers.source, port);
        let kind = if RoceFrame::is_cnp(bytes) { Kind::Cnp } else { Kind::Other };
        let known =
            if headers.is_group() { None } else { self.addresses.port_of(headers.destination) };
        match known {
            Some(egress) if egress == port => {
                counts.filtered += 1;
                return;
            }
            Some(egress) => self.enqueue(now, (port, egress), kind, headers, bytes),
            None => {
                for egress in (0..self.ports.len()).filter(|&egress| egress != port) {
                    self.enqueue(now, (port, egress), kind, headers, bytes);
                }
            }
        }
        // An error for all that is not RoCE, at the first header that shows it.
        if let Some(notifier) = &mut self.notifier
            && let Ok(roce) = RoceFrame::new_checked(bytes)
        {
            let notice = notifier.handle_arrival(now, port, &roce, wire_bytes);
            self.send_notice(now, notice);
        }
    }

    fn enqueue(
        &mut self,
        now: Nanos,
        (ingress, egress): (usize, usize),
        kind: Kind,
        headers: Headers,
        bytes: &[u8],
    ) {
        let wire_bytes = wire_bytes(bytes.len());
        // Before it is copied: a flood that is dropped must not allocate.
        if !self.model.has_room(wire_bytes) {
            self.ports[egress].dropped += 1;
            return;
        }
        let frame = Queued { frame: self.frames.copy(bytes), headers, ingress, kind };
        let class = usize::from(headers.class);
        let is_ecn_capable = headers.ecn() != Ecn::NotEct;
        let frame = FrameIn { ingress, egress, class, wire_bytes, is_ecn_capable, frame };
        assert!(self.model.handle_frame(now, frame), "there is room");
        let counts = &mut self.ports[egress];
        counts.queue_bytes_max = counts.queue_bytes_max.max(self.model.queued_bytes(egress));
    }

    /// The next frame that has left by `now`, with its mark; in the order of their ends.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Departure<'_>> {
        if let Some(frame) = self.left.take() {
            self.frames.recycle(frame);
        }
        let out = self.model.poll_transmit(now)?;
        let Queued { mut frame, headers, ingress, kind } = out.frame;
        let wire_bytes = u64::from(wire_bytes(frame.bytes().len()));
        if kind != Kind::Forged {
            self.ports[ingress].bytes_forwarded += wire_bytes;
        }
        let counts = &mut self.ports[out.egress];
        counts.frames_out += 1;
        counts.bytes_out += wire_bytes;
        counts.cnp_forwarded += u64::from(kind == Kind::Cnp);
        counts.cnp_forged += u64::from(kind == Kind::Forged);
        let is_marked = out.is_marked && headers.mark(frame.bytes_mut());
        counts.marked += u64::from(is_marked);
        if let Some(notifier) = self.notifier.as_mut().filter(|_| is_marked)
            && let Ok(roce) = RoceFrame::new_checked(frame.bytes())
        {
            let notice = notifier.handle_mark(out.at, ingress, &roce);
            self.send_notice(out.at, notice);
        }
        let frame = self.left.insert(frame);
        Some(Departure { port: out.egress, at: out.at, bytes: frame.bytes() })
    }

    /// Queues a notification of the switch itself.
    fn send_notice(&mut self, now: Nanos, notice: Option<Notice>) {
        match notice {
            None => {}
            Some(Notice::Forged { port, frame })
                if self.model.has_room(wire_bytes(frame.len())) =>
            {
                let headers = Headers::parse(&frame).expect("it is a frame");
                // It came in by no port: its own stands for that.
                self.enqueue(now, (port, port), Kind::Forged, headers, &frame);
            }
            Some(Notice::Forged { port, .. } | Notice::Refused { port }) => {
                self.ports[port].cnp_refused += 1;
            }
        }
    }

    /// When the next frame has left.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.model.poll_timeout()
    }

    /// How frames are marked.
    pub const fn marking(&self) -> Option<Marking> {
        self.config.marking
    }

    /// What it has done, by port.
    pub fn ports(&self) -> &[PortCounts] {
        &self.ports
    }

    /// Bytes that wait for a port.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn queued_bytes(&self, port: usize) -> u64 {
        self.model.queued_bytes(port)
    }

    /// Bytes of memory that its frames have, in use or not.
    pub const fn frame_memory_bytes(&self) -> usize {
        self.frames.memory_bytes()
    }
}

/// What a frame of so many bytes without FCS takes of a wire: padding, FCS, preamble and gap.
pub const fn wire_bytes(frame_bytes: usize) -> u32 {
    const LEN_MIN: usize = 60;
    let padded = if frame_bytes < LEN_MIN { LEN_MIN } else { frame_bytes };
    (padded + 4 + 8 + 12) as u32
}
