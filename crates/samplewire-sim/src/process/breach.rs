//! Senders that break the rules: what an endpoint sends is changed on its way to the network.

use samplewire_proto::wire::{HEADER_LEN, PacketType, RECORD_LEN};
use samplewire_proto::{Seq, crc};
use samplewire_roce::wire::{Body, FRAME_BYTES_MAX, Frame, Packet};

use crate::check::Breach;

/// Changes a packet of a stream that begins at `first`; `false` where it stays as it is.
pub(super) fn change(breach: Breach, first: Seq, bytes: &mut Vec<u8>) -> bool {
    let kind = bytes[0] & 0x0F;
    let is_data = kind == PacketType::Data as u8;
    if !is_data && kind != PacketType::Close as u8 {
        return false;
    }
    match breach {
        Breach::Form if is_data => {
            bytes.splice(HEADER_LEN..HEADER_LEN, [0; PADDING]);
        }
        Breach::Form => return false,
        Breach::Jumps | Breach::Retreats => {
            let seq = Seq(u32::from_be_bytes(field(bytes, SEQ)));
            let index = shifted(breach, u64::from_be_bytes(field(bytes, INDEX)), seq - first);
            bytes[INDEX..INDEX + 8].copy_from_slice(&index.to_be_bytes());
        }
    }
    let covered = bytes.len() - 4;
    let crc = crc::crc32c(&bytes[..covered]);
    bytes[covered..].copy_from_slice(&crc.to_be_bytes());
    true
}

/// A frame with a changed record; `None` for one that has no record.
pub(super) fn change_frame(breach: Breach, first: Seq, frame: &Frame<'_>) -> Option<Vec<u8>> {
    let Packet { bth, body } = frame.packet();
    let Body::Request { reth, immediate: Some(seq), payload } = body else { return None };
    let mut payload = payload.to_vec();
    let record = payload.last_chunk_mut::<RECORD_LEN>().expect("it ends with its record");
    match breach {
        Breach::Form => record[RECORD_LEN - 1] = 1,
        Breach::Jumps | Breach::Retreats => {
            let index = shifted(breach, u64::from_be_bytes(field(record, 0)), Seq(seq) - first);
            record[..8].copy_from_slice(&index.to_be_bytes());
        }
    }
    let body = Body::Request { reth, immediate: Some(seq), payload: &payload };
    let mut changed = vec![0; FRAME_BYTES_MAX];
    let len = Packet { bth, body }.emit(&frame.route(), &mut changed);
    changed.truncate(len);
    Some(changed)
}

/// The index that a packet says which is so many packets after the first.
pub(crate) const fn shifted(breach: Breach, index: u64, packets: u32) -> u64 {
    match breach {
        Breach::Form => index,
        Breach::Jumps => index.wrapping_add(packets as u64),
        Breach::Retreats => index.wrapping_sub(packets as u64),
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("an endpoint sends whole packets")
}

/// Where fields stand in a packet.
const INDEX: usize = 6;
const SEQ: usize = 14;

/// By so much a payload is longer.
const PADDING: usize = 8;
