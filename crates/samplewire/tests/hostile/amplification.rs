//! What an address that has not been proven gets back: never more than came from it.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use samplewire_proto::wire::{Flags, PacketType};

use crate::craft::{Draw, nearly_right, noise, retag};
use crate::forge::Stranger;
use crate::honest::{Device, Honest};
use crate::replay::Recording;

/// What was sent to an end of ours, and what came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Of the packets.
    pub(crate) kind: String,
    /// The attacked end.
    pub(crate) target: &'static str,
    pub(crate) packet_bytes: usize,
    pub(crate) packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) answered_bytes: u64,
}

impl Answer {
    pub(crate) fn factor(&self) -> f64 {
        self.answered_bytes as f64 / self.sent_bytes as f64
    }
}

/// Sends packets of every type, in the shortest form and in longer ones, to a device without a
/// stream, to one with, and to the port of a receiver.
pub(crate) fn measure() -> Result<Vec<Answer>, Box<dyn Error>> {
    let device = Device::start(1_408, 100_000_000, 0)?;
    let recording = Recording::make(device.address)?;
    let mut answers = ask("device without a stream", device.address, &recording)?;
    let honest = Honest::open(device)?;
    answers.extend(ask("device with a stream", honest.device.address, &recording)?);
    answers.extend(ask("receiver", honest.client, &recording)?);
    honest.finish()?;
    Ok(answers)
}

fn ask(
    target: &'static str,
    to: SocketAddr,
    recording: &Recording,
) -> Result<Vec<Answer>, Box<dyn Error>> {
    let mut draw = Draw::new(5);
    let mut groups = BTreeMap::<(String, usize), Vec<Vec<u8>>>::new();
    let mut add = |kind: String, packet: Vec<u8>| {
        groups.entry((kind, packet.len())).or_default().push(packet);
    };
    for _ in 0..PACKETS {
        for kind in PacketType::ALL {
            for flags in [Flags::NONE, Flags::FROM_OPENER] {
                for data_bytes in [8, 16, 1_408] {
                    add(format!("{kind:?}"), nearly_right(&mut draw, kind, flags, data_bytes));
                }
            }
        }
        for version in [0, 2, 15] {
            for len in [22, 42, 127, 128, 1_400] {
                let mut packet = noise(&mut draw, len);
                packet[0] = version << 4 | PacketType::Open as u8;
                add(format!("OPEN of version {version}"), packet);
            }
        }
        for number in 9..=15 {
            let mut packet = noise(&mut draw, 64);
            packet[0] = 0x10 | number;
            let tag = draw.word();
            retag(&mut packet, tag);
            add(format!("reserved type {number}"), packet);
        }
        add("noise".to_owned(), noise(&mut draw, 64));
    }
    // The OPEN that carries another address's cookie is among them.
    for packet in recording.from_client.iter().take(PACKETS) {
        add("recorded".to_owned(), packet.clone());
    }
    let mut answers = Vec::new();
    for (at, ((kind, packet_bytes), packets)) in groups.into_iter().enumerate() {
        let mut stranger = Stranger::new(2, at as u8)?;
        let mut answered_bytes = 0;
        let mut take = |bytes: &[u8], _| answered_bytes += bytes.len() as u64;
        for packet in &packets {
            stranger.send(std::slice::from_ref(packet), to)?;
            stranger.receive(PAUSE, &mut take)?;
        }
        while stranger.receive(PATIENCE, &mut take)? {}
        answers.push(Answer {
            kind,
            target,
            packet_bytes,
            packets: packets.len() as u64,
            sent_bytes: packets.iter().map(|packet| packet.len() as u64).sum(),
            answered_bytes,
        });
    }
    Ok(answers)
}

/// Of each type and form.
const PACKETS: usize = 16;

/// A device answers packets of no stream once in a millisecond.
const PAUSE: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_millis(10);
