//! The message that is being received, and whether a packet is its next (IB 9.7).

use super::Fault;
use crate::number::{MESSAGE_BYTES_MAX, PathMtu};
use crate::wire::{Opcode, Operation, Reth};

/// A message of several packets of which the last has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// It goes into the receive request at the front.
    Send { received: u32 },
    /// The rest of it goes to a region.
    Write(WriteLeft),
}

/// Where the rest of an RDMA WRITE goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WriteLeft {
    pub(super) key: u32,
    /// Of its next byte.
    pub(super) address: u64,
    pub(super) left: u32,
    /// The length of the whole message.
    pub(super) total: u32,
}

/// Checks that the opcode follows on the packet before.
pub(super) fn check_order(message: Option<Message>, opcode: Opcode) -> Result<(), Fault> {
    let operation = opcode.operation();
    let is_next = match message {
        _ if operation == Operation::Unsupported => return Err(Fault::Unsupported),
        None => opcode.is_first(),
        Some(Message::Send { .. }) => !opcode.is_first() && operation == Operation::Send,
        Some(Message::Write(_)) => !opcode.is_first() && operation == Operation::Write,
    };
    if is_next { Ok(()) } else { Err(Fault::Order) }
}

/// Checks the length of a packet by its place in the message: only the last may be shorter than the
/// MTU, and only a message of one packet may be empty.
pub(super) fn check_len(opcode: Opcode, len_bytes: u32, mtu: PathMtu) -> Result<(), Fault> {
    let fits = match (opcode.is_first(), opcode.is_last()) {
        (_, false) => len_bytes == mtu.bytes(),
        (true, true) => len_bytes <= mtu.bytes(),
        (false, true) => len_bytes > 0 && len_bytes <= mtu.bytes(),
    };
    if fits { Ok(()) } else { Err(Fault::Length) }
}

/// What a packet of a WRITE leaves of its message: 0 exactly when it is the last.
pub(super) fn left_behind(opcode: Opcode, left: u32, len_bytes: u32) -> Result<u32, Fault> {
    let rest = left.checked_sub(len_bytes).ok_or(Fault::Length)?;
    if opcode.is_last() == (rest == 0) { Ok(rest) } else { Err(Fault::Length) }
}

impl WriteLeft {
    /// A WRITE that begins.
    pub(super) const fn begin(reth: Reth) -> Result<Self, Fault> {
        let Reth { key, address, len_bytes } = reth;
        if len_bytes > MESSAGE_BYTES_MAX {
            return Err(Fault::Length);
        }
        Ok(Self { key, address, left: len_bytes, total: len_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEND: Message = Message::Send { received: 256 };
    const WRITE: Message = Message::Write(WriteLeft { key: 1, address: 2, left: 3, total: 4 });

    /// Which opcodes follow on each state: the table of valid sequences of IB 9.7.
    #[test]
    fn opcodes_follow_on_each_other_as_in_the_table() {
        let valid = |message| -> Vec<u8> {
            let is_valid = |opcode: &&Opcode| check_order(message, **opcode).is_ok();
            Opcode::ALL[..12].iter().filter(is_valid).map(|opcode| *opcode as u8).collect()
        };
        assert_eq!(valid(None), [0x00, 0x04, 0x05, 0x06, 0x0A, 0x0B]);
        assert_eq!(valid(Some(SEND)), [0x01, 0x02, 0x03]);
        assert_eq!(valid(Some(WRITE)), [0x07, 0x08, 0x09]);
        for message in [None, Some(SEND), Some(WRITE)] {
            assert_eq!(check_order(message, Opcode::ReadRequest), Err(Fault::Unsupported));
        }
    }

    #[test]
    fn lengths_at_the_ends_of_their_ranges_hold_and_those_beyond_do_not() {
        let fits = |opcode, len| check_len(opcode, len, PathMtu::Bytes256).is_ok();
        for (opcode, right, wrong) in [
            (Opcode::SendFirst, &[256][..], &[0, 255, 257][..]),
            (Opcode::WriteMiddle, &[256], &[0, 255, 257]),
            (Opcode::SendLast, &[1, 256], &[0, 257]),
            (Opcode::WriteOnly, &[0, 1, 256], &[257]),
        ] {
            assert!(right.iter().all(|len| fits(opcode, *len)), "{opcode:?}");
            assert!(wrong.iter().all(|len| !fits(opcode, *len)), "{opcode:?}");
        }
        assert_eq!(left_behind(Opcode::WriteFirst, 257, 256), Ok(1));
        assert_eq!(left_behind(Opcode::WriteLast, 256, 256), Ok(0));
        assert_eq!(left_behind(Opcode::WriteOnly, 0, 0), Ok(0));
        for (opcode, left, len) in [
            (Opcode::WriteFirst, 256, 256),
            (Opcode::WriteMiddle, 255, 256),
            (Opcode::WriteLast, 257, 256),
            (Opcode::WriteOnly, 1, 0),
        ] {
            assert_eq!(left_behind(opcode, left, len), Err(Fault::Length), "{opcode:?}");
        }
        let reth = |len_bytes| Reth { address: 2, key: 1, len_bytes };
        let whole = WriteLeft { key: 1, address: 2, left: 1 << 31, total: 1 << 31 };
        assert_eq!(WriteLeft::begin(reth(1 << 31)), Ok(whole));
        assert_eq!(WriteLeft::begin(reth((1 << 31) + 1)), Err(Fault::Length));
    }
}
