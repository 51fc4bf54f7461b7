//! Datagrams of one flow that pass the kernel as one (UDP segmentation offload).
//!
//! The kernel, a network card or the receiver cuts them: each gets the headers of the whole, with its
//! own lengths and checksums, and an identification that counts up. So a sender who counts up as well
//! knows each header, and may protect it by a sum of its own, as RoCEv2 does.

use samplewire_proto::checksum::InternetSum;
use samplewire_proto::wire::field;

use super::super::FRAME_BYTES_MAX;

/// Frames behind a virtio header, in the form in which AF_PACKET takes and gives them
/// (`PACKET_VNET_HDR`; Virtual I/O Device 1.3, 5.1.6).
#[derive(Debug)]
pub(super) struct Merged {
    bytes: Box<[u8]>,
    len_bytes: usize,
    /// Of a datagram's payload; the last may be shorter. 0 for one frame of any kind.
    segment_bytes: usize,
    frames: usize,
    /// Its UDP checksum is not worked out: it comes from this host.
    has_part_of_sum: bool,
}

/// What came is of a kind that this module cannot cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnknownKind;

impl Merged {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; BYTES_MAX].into(),
            len_bytes: 0,
            segment_bytes: 0,
            frames: 0,
            has_part_of_sum: false,
        }
    }

    /// Memory that it takes.
    pub(super) const fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many there are.
    pub(super) const fn frames(&self) -> usize {
        self.frames
    }

    /// Forgets them all.
    pub(super) const fn clear(&mut self) {
        self.frames = 0;
    }

    /// Where the system writes what has come.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Reads what the system wrote: its length, also of what found no room.
    pub(super) fn came(&mut self, len_bytes: usize) -> Result<(), UnknownKind> {
        self.frames = 0;
        if !(FRAME..=self.bytes.len()).contains(&len_bytes) {
            return Err(UnknownKind);
        }
        let (flags, kind) = (self.bytes[0], self.bytes[1]);
        let segment_bytes = usize::from(u16::from_ne_bytes([self.bytes[4], self.bytes[5]]));
        self.len_bytes = len_bytes;
        self.has_part_of_sum = flags & NEEDS_CHECKSUM != 0;
        (self.segment_bytes, self.frames) = match kind & !GSO_ECN {
            GSO_NONE => (0, 1),
            GSO_UDP_L4 if segment_bytes > 0 && is_udp(&self.bytes[FRAME..len_bytes]) => {
                (segment_bytes, (len_bytes - PAYLOAD).div_ceil(segment_bytes))
            }
            _ => return Err(UnknownKind),
        };
        Ok(())
    }

    /// Writes one of the frames to `out`, as much as finds room, and returns its whole length.
    pub(super) fn write(&self, number: usize, out: &mut [u8]) -> usize {
        let frame = &self.bytes[FRAME..self.len_bytes];
        if self.segment_bytes == 0 {
            let len = frame.len().min(out.len());
            out[..len].copy_from_slice(&frame[..len]);
            if self.has_part_of_sum && is_udp(frame) && len >= HEADERS_BYTES {
                field::put_u16(out, UDP_SUM, 0);
            }
            return frame.len();
        }
        let start = PAYLOAD + number * self.segment_bytes;
        let payload = &self.bytes[start..self.len_bytes.min(start + self.segment_bytes)];
        let len = HEADERS_BYTES + payload.len();
        if len > out.len() {
            // What is cut is no packet.
            out.fill(0);
            return len;
        }
        out[..HEADERS_BYTES].copy_from_slice(&frame[..HEADERS_BYTES]);
        out[HEADERS_BYTES..len].copy_from_slice(payload);
        let identification = field::get_u16(frame, IDENTIFICATION).wrapping_add(number as u16);
        field::put_u16(out, IDENTIFICATION, identification);
        set_lengths(&mut out[..len]);
        len
    }

    /// Adds a frame to those that leave together; `false` where it cannot be one of them.
    pub(super) fn add(&mut self, frame: &[u8]) -> bool {
        if frame.len() > FRAME_BYTES_MAX {
            return false;
        }
        let payload_bytes = frame.len().saturating_sub(HEADERS_BYTES);
        let end = self.len_bytes + payload_bytes;
        if self.frames == 0 {
            self.bytes[FRAME..FRAME + frame.len()].copy_from_slice(frame);
            self.len_bytes = FRAME + frame.len();
            self.segment_bytes = if is_plain(frame) { payload_bytes } else { 0 };
        } else if self.is_next(frame) && payload_bytes <= self.segment_bytes && end <= BYTES_MAX {
            self.bytes[self.len_bytes..end].copy_from_slice(&frame[HEADERS_BYTES..]);
            self.len_bytes = end;
        } else {
            return false;
        }
        self.frames += 1;
        true
    }

    /// Whether a frame may follow in the same flow. Behind one that is shorter there is none.
    fn is_next(&self, frame: &[u8]) -> bool {
        let first = &self.bytes[FRAME..FRAME + HEADERS_BYTES];
        let is_full = self.len_bytes == PAYLOAD + self.frames * self.segment_bytes;
        let identification = field::get_u16(first, IDENTIFICATION).wrapping_add(self.frames as u16);
        self.segment_bytes > 0
            && is_full
            && self.frames < FRAMES_MAX
            && is_plain(frame)
            && field::get_u16(frame, IDENTIFICATION) == identification
            && frame[..IP_LEN] == first[..IP_LEN]
            && frame[IDENTIFICATION + 2..IP_SUM] == first[IDENTIFICATION + 2..IP_SUM]
            && frame[IP_SUM + 2..UDP_LEN] == first[IP_SUM + 2..UDP_LEN]
    }

    /// What the system takes: the virtio header and the frames.
    pub(super) fn finish(&mut self) -> &[u8] {
        self.bytes[..FRAME].fill(0);
        if self.frames > 1 {
            let whole = &mut self.bytes[FRAME..self.len_bytes];
            set_lengths(whole);
            // As much of the sum as the kernel does not add (RFC 768).
            let mut sum = InternetSum::default();
            sum.add(&whole[IP_SUM + 2..HEADERS_BYTES - 8]);
            sum.add(&[0, UDP]);
            sum.add(&whole[UDP_LEN..UDP_SUM]);
            let part = !sum.complement();
            field::put_u16(whole, UDP_SUM, part);
            let head = &mut self.bytes[..FRAME];
            (head[0], head[1]) = (NEEDS_CHECKSUM, GSO_UDP_L4);
            for (place, value) in
                [(2, HEADERS_BYTES), (4, self.segment_bytes), (6, IP_END), (8, UDP_SUM - IP_END)]
            {
                head[place..place + 2].copy_from_slice(&(value as u16).to_ne_bytes());
            }
        }
        &self.bytes[..self.len_bytes]
    }
}

/// Writes the lengths of an IPv4 datagram of UDP and the checksum of its IPv4 header; UDP's becomes
/// none.
fn set_lengths(frame: &mut [u8]) {
    field::put_u16(frame, IP_LEN, (frame.len() - ETHERNET_BYTES) as u16);
    field::put_u16(frame, UDP_LEN, (frame.len() - IP_END) as u16);
    field::put_u16(frame, UDP_SUM, 0);
    field::put_u16(frame, IP_SUM, 0);
    let mut sum = InternetSum::default();
    sum.add(&frame[ETHERNET_BYTES..IP_END]);
    field::put_u16(frame, IP_SUM, sum.complement());
}

/// Whether it is a UDP datagram over IPv4 without options.
fn is_udp(frame: &[u8]) -> bool {
    frame.len() >= HEADERS_BYTES
        && field::get_u16(frame, 12) == 0x0800
        && frame[ETHERNET_BYTES] == 0x45
        && frame[ETHERNET_BYTES + 9] == UDP
}

/// Whether it is one without a checksum or bytes behind it: it can be one of several.
fn is_plain(frame: &[u8]) -> bool {
    is_udp(frame)
        && field::get_u16(frame, UDP_SUM) == 0
        && usize::from(field::get_u16(frame, IP_LEN)) == frame.len() - ETHERNET_BYTES
        && usize::from(field::get_u16(frame, UDP_LEN)) == frame.len() - IP_END
        && frame.len() > HEADERS_BYTES
}

/// The virtio header is as long.
const FRAME: usize = 10;
const ETHERNET_BYTES: usize = 14;
const IP_END: usize = ETHERNET_BYTES + 20;
const HEADERS_BYTES: usize = IP_END + 8;
const PAYLOAD: usize = FRAME + HEADERS_BYTES;

/// Where fields stand in a frame.
const IP_LEN: usize = ETHERNET_BYTES + 2;
const IDENTIFICATION: usize = ETHERNET_BYTES + 4;
const IP_SUM: usize = ETHERNET_BYTES + 10;
const UDP_LEN: usize = IP_END + 4;
const UDP_SUM: usize = IP_END + 6;

const UDP: u8 = 17;
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// An IPv4 packet is not longer.
const BYTES_MAX: usize = FRAME + ETHERNET_BYTES + 65_535;

/// As many as every kernel takes (`UDP_MAX_SEGMENTS`).
const FRAMES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD_BYTES: usize = 40;

    /// A datagram as a sender forms it, without a checksum of UDP.
    fn frame(identification: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; HEADERS_BYTES];
        frame[..12].copy_from_slice(b"\x02-dst-\x02-src-");
        field::put_u16(&mut frame, 12, 0x0800);
        frame[ETHERNET_BYTES..ETHERNET_BYTES + 2].copy_from_slice(&[0x45, 2]);
        field::put_u16(&mut frame, IDENTIFICATION, identification);
        frame[ETHERNET_BYTES + 8..ETHERNET_BYTES + 10].copy_from_slice(&[64, UDP]);
        frame[ETHERNET_BYTES + 12..IP_END].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[IP_END..IP_END + 4].copy_from_slice(&[0xC0, 1, 0x12, 0xB7]);
        frame.extend_from_slice(payload);
        set_lengths(&mut frame);
        frame
    }

    fn full(number: u16) -> Vec<u8> {
        frame(number, &[number as u8; PAYLOAD_BYTES])
    }

    /// What a receiver on this host gets of what leaves.
    fn carried(leaving: &mut Merged) -> Merged {
        let mut come = Merged::new();
        let bytes = leaving.finish();
        come.room()[..bytes.len()].copy_from_slice(bytes);
        come.came(bytes.len()).expect("it is of a kind that is known");
        come
    }

    fn written(merged: &Merged) -> Vec<Vec<u8>> {
        let mut out = [0; FRAME_BYTES_MAX];
        (0..merged.frames())
            .map(|number| {
                let len = merged.write(number, &mut out);
                out[..len].to_vec()
            })
            .collect()
    }

    /// With an identification that wraps, and a last frame that is shorter.
    #[test]
    fn frames_that_leave_together_are_the_same_where_they_are_cut() {
        let mut frames: Vec<_> = (0xFFFE..=0xFFFF).chain(0..3).map(full).collect();
        frames.push(frame(3, &[3; PAYLOAD_BYTES - 1]));
        let mut leaving = Merged::new();
        assert!(frames.iter().all(|frame| leaving.add(frame)));
        assert!(!leaving.add(&full(4)), "the last one is shorter");
        assert_eq!(written(&leaving), frames, "where they leave one by one");
        assert_eq!(written(&carried(&mut leaving)), frames);
        // What had no room is tried again, and may be cut still.
        assert_eq!(written(&carried(&mut leaving)), frames);
        assert_eq!(written(&leaving), frames);
    }

    /// The kernel adds the sum of what follows the pseudo header, and inverts.
    #[test]
    fn sum_of_the_whole_has_the_pseudo_header_alone() {
        let mut leaving = Merged::new();
        assert!(leaving.add(&full(1)) && leaving.add(&full(2)));
        let bytes = leaving.finish();
        assert_eq!(bytes[..FRAME], [1, 5, 42, 0, PAYLOAD_BYTES as u8, 0, 34, 0, 6, 0]);
        let whole = &bytes[FRAME..];
        let len = (8 + 2 * PAYLOAD_BYTES) as u16;
        let words = [0x0A00, 1, 0x0A00, 2, u32::from(UDP), len.into()];
        assert_eq!(u32::from(field::get_u16(whole, UDP_SUM)), words.iter().sum());
        assert_eq!(field::get_u16(whole, UDP_LEN), len);
        assert_eq!(field::get_u16(whole, IP_LEN), 20 + len);
    }

    #[test]
    fn frame_of_another_flow_length_or_order_does_not_follow() {
        let changed = |at: usize| {
            let mut frame = full(2);
            frame[at] ^= 1;
            frame
        };
        let mut with_sum = full(2);
        field::put_u16(&mut with_sum, UDP_SUM, 1);
        let mut padded = full(2);
        padded.push(0);
        let others = [
            changed(0),                   // Ethernet address
            changed(ETHERNET_BYTES + 1),  // ECN
            changed(ETHERNET_BYTES + 8),  // time to live
            changed(ETHERNET_BYTES + 15), // address
            changed(IP_END + 1),          // port
            full(1),
            full(3),
            frame(2, &[0; PAYLOAD_BYTES + 1]),
            with_sum,
            padded,
            vec![0; 60],
        ];
        for (number, other) in others.iter().enumerate() {
            let mut leaving = Merged::new();
            assert!(leaving.add(&full(1)));
            assert!(!leaving.add(other), "number {number}");
            assert!(leaving.add(&full(2)));
        }
    }

    #[test]
    fn frame_of_any_other_kind_leaves_alone() {
        let mut leaving = Merged::new();
        let arp = [6; 60];
        assert!(leaving.add(&arp) && !leaving.add(&arp));
        let come = carried(&mut leaving);
        assert_eq!(written(&come), [arp.to_vec()]);
    }

    #[test]
    fn as_many_leave_as_every_kernel_takes_and_one_packet_holds() {
        let mut leaving = Merged::new();
        let count = (0..).take_while(|&number| leaving.add(&full(number))).count();
        assert_eq!(count, 64);
        leaving.clear();
        let long = |number| frame(number, &[0; 4_096 + 20]);
        let count = (0..).take_while(|&number| leaving.add(&long(number))).count();
        assert_eq!(count, (65_535 - 28) / (4_096 + 20));
        let come = carried(&mut leaving);
        assert_eq!(written(&come).last(), Some(&long(count as u16 - 1)));
    }

    /// Its checksum was left to a network card.
    #[test]
    fn lone_datagram_of_this_host_has_no_sum_of_udp() {
        let mut leaving = Merged::new();
        let mut with_part = full(1);
        field::put_u16(&mut with_part, UDP_SUM, 0x1234);
        assert!(leaving.add(&with_part));
        let mut come = carried(&mut leaving);
        assert_eq!(written(&come), [with_part.clone()], "a sum that is whole stays");
        come.room()[0] = NEEDS_CHECKSUM;
        come.came(FRAME + with_part.len()).unwrap();
        assert_eq!(written(&come), [full(1)]);
    }

    #[test]
    fn what_cannot_be_cut_is_of_no_known_kind() {
        let mut leaving = Merged::new();
        assert!(leaving.add(&full(1)) && leaving.add(&full(2)));
        let mut come = carried(&mut leaving);
        let len = FRAME + HEADERS_BYTES + 2 * PAYLOAD_BYTES;
        let with = |come: &mut Merged, at: usize, value: u8, len| {
            let before = std::mem::replace(&mut come.room()[at], value);
            let came = come.came(len);
            come.room()[at] = before;
            (came, come.frames())
        };
        assert_eq!(with(&mut come, 1, 5, len), (Ok(()), 2));
        assert_eq!(with(&mut come, 1, 0x80 | 5, len), (Ok(()), 2));
        for (at, value, len) in [
            (1, 1, len),             // TCP
            (4, 0, len),             // segments without a byte
            (FRAME + 12, 0x86, len), // not IPv4
            (FRAME + 14, 0x46, len), // with options
            (1, 5, FRAME - 1),       // shorter than its header
            (1, 5, FRAME + 41),      // than a datagram's
            (1, 5, BYTES_MAX + 1),   // longer than any
        ] {
            assert_eq!(with(&mut come, at, value, len), (Err(UnknownKind), 0), "{at} {len}");
        }
        // A frame that finds no room is no packet.
        come.came(len).unwrap();
        let mut out = [1; 50];
        assert_eq!(come.write(0, &mut out), HEADERS_BYTES + PAYLOAD_BYTES);
        assert_eq!(out, [0; 50]);
    }
}
