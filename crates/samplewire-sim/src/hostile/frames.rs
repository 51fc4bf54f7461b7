//! Frames of queue pairs: what was sent before, and what no queue pair may take.

use samplewire_roce::wire::{Body, FRAME_BYTES_MAX, Frame, NakCode, Packet, Reth, Route, Syndrome};
use samplewire_roce::{Psn, Qpn};

use super::Hostile;
use crate::packets::ProcessId;
use crate::process::Frames;
use crate::tape::Tape;

/// What a queue pair takes next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) source_ip: [u8; 4],
    pub(crate) number: Qpn,
    pub(crate) psn: Psn,
}

impl Hostile {
    /// Draws frames to `to`, as they were sent: of former streams, or late copies. Without any it draws
    /// nothing.
    pub(crate) fn draw_frames(&mut self, to: ProcessId, tape: &Tape, frames: &mut Frames) {
        while frames.len() < FRAMES_MAX
            && let Some(recorded) = tape.pick_frame(&mut self.rng, to)
        {
            frames.push(&recorded.bytes, false);
        }
    }

    /// Draws frames with a wrong ICRC, from a wrong address, or to a wrong queue pair, which may differ
    /// from a live one in its generation alone. Their other fields are right or random: `live` has those
    /// of the next frame to a queue pair. `numbers` are those of all queue pairs there.
    pub(crate) fn draw_forged_frames(
        &mut self,
        to: ProcessId,
        live: Option<&Expected>,
        numbers: &[Qpn],
        tape: &Tape,
        frames: &mut Frames,
    ) {
        for _ in 0..FRAMES_MAX {
            let Some(recorded) = tape.pick_frame(&mut self.rng, to) else { return };
            // ARP has no secret.
            let Ok(frame) = Frame::new_checked(&recorded.bytes) else { continue };
            let (mut route, mut packet) = (frame.route(), frame.packet());
            if let Some(live) = live {
                route.source_ip = live.source_ip;
                (packet.bth.destination, packet.bth.psn) = (live.number, live.psn);
            }
            if self.rng.one_in(4) {
                packet = Packet::cnp(packet.bth.destination);
                route = route.for_cnp();
            } else if self.rng.one_in(2) {
                self.change_packet(&mut packet);
            }
            self.push_wrong(&mut route, &mut packet, numbers, frames);
        }
    }

    /// Draws congestion notifications (CNP) to the queue pairs that frames to `to` name, from where
    /// these came: as a switch on the path sends them.
    pub(crate) fn draw_cnps(&mut self, to: ProcessId, tape: &Tape, frames: &mut Frames) {
        for _ in 0..FRAMES_MAX {
            let Some(recorded) = tape.pick_frame(&mut self.rng, to) else { return };
            let Ok(frame) = Frame::new_checked(&recorded.bytes) else { continue };
            let mut bytes = [0; FRAME_BYTES_MAX];
            let cnp = Packet::cnp(frame.packet().bth.destination);
            let len = cnp.emit(&frame.route().for_cnp(), &mut bytes);
            frames.push(&bytes[..len], false);
        }
    }

    /// Writes a frame with one thing wrong.
    fn push_wrong(
        &mut self,
        route: &mut Route,
        packet: &mut Packet<'_>,
        numbers: &[Qpn],
        frames: &mut Frames,
    ) {
        let kind = self.rng.below(3);
        match kind {
            0 => route.source_ip[3] ^= 1 + self.rng.below(255) as u8,
            1 => {
                let wrong = 1 << self.rng.below(24);
                packet.bth.destination = Qpn::new(packet.bth.destination.get() ^ wrong);
                if numbers.contains(&packet.bth.destination) {
                    return;
                }
            }
            _ => {}
        }
        let mut bytes = [0; FRAME_BYTES_MAX];
        let len = packet.emit(route, &mut bytes);
        let has_wrong_icrc = kind == 2;
        if has_wrong_icrc {
            bytes[len - 1 - self.rng.below(4) as usize] ^= 1 << self.rng.below(8);
        }
        frames.push(&bytes[..len], has_wrong_icrc);
    }

    /// Writes what ends a connection, random numbers or neighbours to the fields of a packet.
    fn change_packet(&mut self, packet: &mut Packet<'_>) {
        let near = self.rng.below(64) as u32;
        let psn = match self.rng.below(4) {
            0 => packet.bth.psn.get().wrapping_add(near),
            1 => packet.bth.psn.get().wrapping_sub(near),
            2 => self.rng.draw() as u32,
            _ => packet.bth.psn.get(),
        };
        packet.bth.psn = Psn::new(psn);
        if let Body::Acknowledge(aeth) = &mut packet.body {
            aeth.syndrome = Syndrome::Nak(NakCode::RemoteAccess);
        }
        let Body::Request { reth, immediate, .. } = &mut packet.body else { return };
        if let Some(Reth { address, key, len_bytes }) = reth {
            match self.rng.below(4) {
                0 => *address = self.rng.draw(),
                1 => *key = self.rng.draw() as u32,
                2 => *len_bytes = self.rng.draw() as u32,
                _ => {}
            }
        }
        if let Some(seq) = immediate {
            *seq = seq.wrapping_add(near);
        }
    }
}

const FRAMES_MAX: usize = 8;
