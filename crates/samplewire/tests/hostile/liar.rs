//! A device that lies about its format, and the program of ours that opens it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use samplewire::ReceiveOptions;
use samplewire_proto::wire::{
    self, Accept, Challenge, Close, CloseReason, Flags, HEADER_LEN, Header, Mark, Open, Packet,
    PacketType, Tlvs, seal,
};
use samplewire_proto::{Departure, Seq, Tag};

use crate::craft::Draw;
use crate::forge::Stranger;

/// A lie in the terms of an ACCEPT, or in what follows it.
#[derive(Clone, Copy, Debug)]
enum Lie {
    Terms(fn(&mut Accept<'_>, &mut Header)),
    Stream(fn(&mut Forged<'_>)),
}

/// The packets that the device sends after a valid ACCEPT.
struct Forged<'a> {
    packets: &'a mut Vec<Vec<u8>>,
    tag: Tag,
    departure: u32,
}

/// Every lie, and what is wrong with it.
const LIES: &[(&str, Lie)] = &[
    ("no channels", Lie::Terms(|accept, _| accept.channels = 0)),
    ("65,535 channels", Lie::Terms(|accept, _| accept.channels = u16::MAX)),
    ("unknown format", Lie::Terms(|accept, _| accept.format = 99)),
    ("payload no multiple of 8", Lie::Terms(|accept, _| accept.payload_bytes = 1_003)),
    ("payload 0", Lie::Terms(|accept, _| accept.payload_bytes = 0)),
    ("payload beyond the packet", Lie::Terms(|accept, _| accept.payload_bytes = 65_528)),
    ("no samples", Lie::Terms(|accept, _| accept.packet_samples = 0)),
    ("2^32 - 1 samples", Lie::Terms(|accept, _| accept.packet_samples = u32::MAX)),
    ("payload begins in the header", Lie::Terms(|accept, _| accept.payload_offset = 0)),
    ("payload offset 255", Lie::Terms(|accept, _| accept.payload_offset = 255)),
    ("unknown trailer", Lie::Terms(|accept, _| accept.trailer_kind = 7)),
    ("window 0", Lie::Terms(|accept, _| accept.window = 0)),
    ("window 2^32 - 1", Lie::Terms(|accept, _| accept.window = u32::MAX)),
    ("dead after 0", Lie::Terms(|accept, _| accept.dead_ms = 0)),
    ("idle longer than dead", Lie::Terms(|accept, _| accept.idle_ms = u16::MAX)),
    ("tolerance 68 s", Lie::Terms(|accept, _| accept.reorder_tolerance = u32::MAX)),
    ("no ranges", Lie::Terms(|accept, _| accept.ranges_max = 0)),
    ("tag 0", Lie::Terms(|accept, _| accept.tag = Tag::NONE)),
    ("rate 0/0", Lie::Terms(|accept, _| (accept.rate_numerator, accept.rate_denominator) = (0, 0))),
    ("rate 2^64 - 1", Lie::Terms(|accept, _| accept.rate_numerator = u64::MAX)),
    ("first index above 2^63", Lie::Terms(|_, header| header.index = u64::MAX)),
    ("payload shorter than agreed", Lie::Stream(|forged| forged.data(0, 0, Flags::NONE, &[0; 64]))),
    (
        "payload longer than agreed",
        Lie::Stream(|forged| forged.data(0, 0, Flags::NONE, &[0; 1_416])),
    ),
    (
        "index retreats",
        Lie::Stream(|forged| {
            forged.data(0, 0, Flags::NONE, &[0; PAYLOAD_BYTES]);
            forged.data(1, 0, Flags::NONE, &[0; PAYLOAD_BYTES]);
        }),
    ),
    (
        "index jumps",
        Lie::Stream(|forged| forged.data(0, 1 << 40, Flags::NONE, &[0; PAYLOAD_BYTES])),
    ),
    (
        "index above 2^63",
        Lie::Stream(|forged| {
            forged.data(0, u64::MAX, Flags::START, &[0; PAYLOAD_BYTES]);
        }),
    ),
    (
        "overflow of 2^63 samples",
        Lie::Stream(|forged| {
            forged.data(0, 1 << 63, Flags::OVERFLOW, &[0; PAYLOAD_BYTES]);
            forged.data(1, 1 << 63, Flags::NONE, &[0; PAYLOAD_BYTES]);
        }),
    ),
    (
        "burst of 2^64 - 1 samples",
        Lie::Stream(|forged| {
            forged.data(0, 0, Flags::END_OF_BURST, &[0xFF; PAYLOAD_BYTES]);
        }),
    ),
    (
        "burst of nothing but a count",
        Lie::Stream(|forged| {
            forged.data(0, 0, Flags::END_OF_BURST, &[0xFF; 8]);
        }),
    ),
    ("META of noise", Lie::Stream(|forged| forged.data(0, 0, Flags::META, &[0xA5; PAYLOAD_BYTES]))),
    (
        "META that never ends",
        Lie::Stream(|forged| {
            let tlv = [0, 5, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0].repeat(100);
            forged.data(0, 0, Flags::META, &tlv[..1_200]);
        }),
    ),
    (
        "DATA beyond the credit",
        Lie::Stream(|forged| {
            for seq in 0..64 {
                forged.data(0x7000_0000 + seq, 0, Flags::NONE, &[0; PAYLOAD_BYTES]);
            }
        }),
    ),
    ("MARK of the end of the window: all is missing", Lie::Stream(|forged| forged.mark(0, 1_024))),
    ("MARK: all is gone", Lie::Stream(|forged| forged.mark(1_024, 1_024))),
    ("MARK beyond the credit", Lie::Stream(|forged| forged.mark(0, u32::MAX >> 1))),
    ("MARK whose oldest is beyond its seq", Lie::Stream(|forged| forged.mark(5, 4))),
    ("CLOSE at index 2^63", Lie::Stream(|forged| forged.close(0, 1 << 63))),
    ("CLOSE at index 2^64 - 1", Lie::Stream(|forged| forged.close(0, u64::MAX))),
    (
        "CLOSE before what was delivered",
        Lie::Stream(|forged| {
            forged.data(0, 0, Flags::NONE, &[0; PAYLOAD_BYTES]);
            forged.close(1, 3);
        }),
    ),
    ("CLOSE at the end of the window", Lie::Stream(|forged| forged.close(1_024, 1 << 50))),
];

/// The device.
pub(crate) struct Liar {
    stranger: Stranger,
    lie: usize,
    draw: Draw,
    departure: u32,
}

impl Liar {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { stranger: Stranger::new(4, 1)?, lie: 0, draw: Draw::new(4), departure: 0 })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.stranger.address()
    }

    /// Answers what has come; how many packets and bytes that were.
    pub(crate) fn step(&mut self) -> io::Result<(u64, u64)> {
        let mut opens = Vec::new();
        self.stranger.receive(Duration::from_millis(1), |bytes, peer| {
            if let Ok((_, Packet::Open(open))) = wire::parse(bytes) {
                opens.push((Open { tlvs: Tlvs::EMPTY, ..open }, bytes.len(), peer));
            }
        })?;
        let (mut packets, mut bytes) = (0, 0);
        for (open, len, peer) in opens {
            let answer = self.answer(&open, len);
            self.stranger.send(&answer, peer)?;
            packets += answer.len() as u64;
            bytes += answer.iter().map(|packet| packet.len() as u64).sum::<u64>();
        }
        Ok((packets, bytes))
    }

    fn answer(&mut self, open: &Open<'_>, len: usize) -> Vec<Vec<u8>> {
        let mut out = vec![0; 9_000];
        self.departure += 1;
        let mut header = Header {
            kind: PacketType::Challenge,
            flags: Flags::NONE,
            tag: open.tag,
            index: 0,
            seq: Seq(0),
            departure: Departure(self.departure),
        };
        if open.cookie == [0; 16] {
            let challenge = Challenge { nonce: open.nonce, cookie: [7; 16] };
            let len = challenge.emit(&header, &mut out);
            return vec![out[..len].to_vec()];
        }
        let (_, lie) = LIES[self.lie % LIES.len()];
        self.lie += 1;
        header.kind = PacketType::Accept;
        let mut accept = honest_accept(open, Tag(self.draw.word() | 1));
        if let Lie::Terms(lie) = lie {
            lie(&mut accept, &mut header);
        }
        let len = accept.emit(&header, len.max(200), &mut out);
        let mut packets = vec![out[..len].to_vec()];
        let tag = open.tag;
        let mut forged = Forged { packets: &mut packets, tag, departure: self.departure };
        match lie {
            Lie::Stream(lie) => lie(&mut forged),
            // A receiver that accepts these terms gets a packet with them.
            Lie::Terms(_) => forged.data(0, 0, Flags::NONE, &[0; PAYLOAD_BYTES]),
        }
        self.departure = forged.departure;
        packets
    }
}

impl Forged<'_> {
    fn header(&mut self, kind: PacketType, flags: Flags, (seq, index): (u32, u64)) -> Header {
        self.departure += 1;
        let (seq, departure) = (Seq(seq), Departure(self.departure));
        Header { kind, flags, tag: self.tag, index, seq, departure }
    }

    fn data(&mut self, seq: u32, index: u64, flags: Flags, payload: &[u8]) {
        let header = self.header(PacketType::Data, flags, (seq, index));
        let mut out = vec![0; HEADER_LEN + payload.len() + 4];
        out[HEADER_LEN..HEADER_LEN + payload.len()].copy_from_slice(payload);
        seal(&header, payload.len(), &mut out);
        self.packets.push(out);
    }

    fn mark(&mut self, oldest: u32, seq: u32) {
        let header = self.header(PacketType::Mark, Flags::NONE, (seq, 0));
        let mark = Mark {
            oldest: Seq(oldest),
            report: Seq(0),
            echo: Departure(0),
            hold: u32::MAX,
            source_lost: u64::MAX,
            time_ns: 0,
        };
        let mut out = vec![0; 100];
        let len = mark.emit(&header, &mut out);
        self.packets.push(out[..len].to_vec());
    }

    fn close(&mut self, seq: u32, index: u64) {
        let header = self.header(PacketType::Close, Flags::NONE, (seq, index));
        let close = Close { reason: CloseReason::Finished, last: Seq(0), source_lost: u64::MAX };
        let mut out = vec![0; 100];
        let len = close.emit(&header, &mut out);
        self.packets.push(out[..len].to_vec());
    }
}

fn honest_accept<'a>(open: &Open<'_>, tag: Tag) -> Accept<'a> {
    Accept {
        nonce: open.nonce,
        tag,
        stream: 0,
        streams: 1,
        boot_id: 1,
        rate_numerator: 1_000_000,
        rate_denominator: 1,
        format: 2,
        channels: 1,
        packet_samples: PAYLOAD_BYTES as u32 / 4,
        payload_bytes: PAYLOAD_BYTES as u16,
        payload_offset: HEADER_LEN as u8,
        trailer_kind: 0,
        window: 1_024,
        reorder_tolerance: 3_125,
        dead_ms: 400,
        idle_ms: 100,
        ranges_max: 128,
        granularity_bytes: 8,
        time_ns: 0,
        tlvs: Tlvs::EMPTY,
    }
}

/// How our ends fared: what they said, and how often.
pub(crate) type Outcomes = Arc<Mutex<BTreeMap<String, u64>>>;

/// Opens the liar once, takes what it gives, and closes; the longest that this may take is
/// [`OPENING_MAX`] and twice [`PATIENCE`].
pub(crate) fn open_once(liar: SocketAddr, outcomes: &Outcomes) {
    let options = ReceiveOptions::new().timeout(OPENING_MAX);
    let outcome = match options.open(liar) {
        Err(error) => {
            let text = error.to_string();
            text.replace(&liar.to_string(), "it")
        }
        Ok(mut receiver) => {
            let until = Instant::now() + PATIENCE;
            while receiver.next_within(Duration::from_millis(5)).is_ok() && Instant::now() < until {
            }
            let end = match receiver.end() {
                Some(Ok(end)) => {
                    let text = format!("{end:?}");
                    let name_bytes = text.find([' ', '(']).unwrap_or(text.len());
                    format!("ended: {}", &text[..name_bytes])
                }
                Some(Err(error)) => format!("failed: {error}"),
                None => "closed by us".to_owned(),
            };
            let stats = receiver.close();
            assert!(stats.stream.samples_delivered <= 100_000, "{stats:?}");
            end
        }
    };
    *outcomes.lock().expect("no panic").entry(outcome).or_default() += 1;
}

const PAYLOAD_BYTES: usize = 1_408;
const OPENING_MAX: Duration = Duration::from_millis(60);
const PATIENCE: Duration = Duration::from_millis(30);
