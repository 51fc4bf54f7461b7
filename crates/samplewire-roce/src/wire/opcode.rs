//! The opcodes of requests and acknowledgements of reliable connections (IB 9.2), and that of a
//! congestion notification (A17.9.3).

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// The first packet of several of a SEND.
    SendFirst = 0x00,
    /// A packet between them.
    SendMiddle = 0x01,
    /// The last.
    SendLast = 0x02,
    /// The last, with immediate data.
    SendLastImmediate = 0x03,
    /// A SEND of one packet.
    SendOnly = 0x04,
    /// A SEND of one packet with immediate data.
    SendOnlyImmediate = 0x05,
    /// The first packet of several of an RDMA WRITE.
    WriteFirst = 0x06,
    /// A packet between them.
    WriteMiddle = 0x07,
    /// The last.
    WriteLast = 0x08,
    /// The last, with immediate data.
    WriteLastImmediate = 0x09,
    /// An RDMA WRITE of one packet.
    WriteOnly = 0x0A,
    /// An RDMA WRITE of one packet with immediate data.
    WriteOnlyImmediate = 0x0B,
    /// RDMA READ, which gets a NAK.
    ReadRequest = 0x0C,
    /// An acknowledgement, positive or negative.
    Acknowledge = 0x11,
    /// An atomic operation, which gets a NAK.
    CompareSwap = 0x13,
    /// An atomic operation, which gets a NAK.
    FetchAdd = 0x14,
    /// Reserved for a request, which gets a NAK.
    Reserved15 = 0x15,
    /// SEND that invalidates a key, which gets a NAK.
    SendLastInvalidate = 0x16,
    /// SEND that invalidates a key, which gets a NAK.
    SendOnlyInvalidate = 0x17,
    /// Reserved for a request, which gets a NAK.
    Reserved18 = 0x18,
    /// Reserved for a request, which gets a NAK.
    Reserved19 = 0x19,
    /// Reserved for a request, which gets a NAK.
    Reserved1A = 0x1A,
    /// Reserved for a request, which gets a NAK.
    Reserved1B = 0x1B,
    /// FLUSH of a write to memory, which gets a NAK.
    Flush = 0x1C,
    /// An atomic write, which gets a NAK.
    AtomicWrite = 0x1D,
    /// Reserved for a request, which gets a NAK.
    Reserved1E = 0x1E,
    /// Reserved for a request, which gets a NAK.
    Reserved1F = 0x1F,
    /// Congestion notification packet.
    Cnp = 0x81,
}

/// What a packet's opcode belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A SEND, into memory of a receive request.
    Send,
    /// An RDMA WRITE, into memory of a region.
    Write,
    /// A request that gets a NAK.
    Unsupported,
    /// An acknowledgement.
    Acknowledge,
    /// A congestion notification.
    Cnp,
}

impl Opcode {
    /// Every opcode, by number.
    pub const ALL: [Self; 28] = [
        Self::SendFirst,
        Self::SendMiddle,
        Self::SendLast,
        Self::SendLastImmediate,
        Self::SendOnly,
        Self::SendOnlyImmediate,
        Self::WriteFirst,
        Self::WriteMiddle,
        Self::WriteLast,
        Self::WriteLastImmediate,
        Self::WriteOnly,
        Self::WriteOnlyImmediate,
        Self::ReadRequest,
        Self::Acknowledge,
        Self::CompareSwap,
        Self::FetchAdd,
        Self::Reserved15,
        Self::SendLastInvalidate,
        Self::SendOnlyInvalidate,
        Self::Reserved18,
        Self::Reserved19,
        Self::Reserved1A,
        Self::Reserved1B,
        Self::Flush,
        Self::AtomicWrite,
        Self::Reserved1E,
        Self::Reserved1F,
        Self::Cnp,
    ];

    /// The opcode of a number, `None` for one that is not handled.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|opcode| *opcode as u8 == number)
    }

    /// The opcode of a packet of a SEND or WRITE; immediate data is in its last packet.
    pub const fn of_packet(
        is_write: bool,
        is_first: bool,
        is_last: bool,
        has_immediate: bool,
    ) -> Self {
        match (is_write, is_first, is_last, has_immediate) {
            (false, true, false, _) => Self::SendFirst,
            (false, false, false, _) => Self::SendMiddle,
            (false, false, true, false) => Self::SendLast,
            (false, false, true, true) => Self::SendLastImmediate,
            (false, true, true, false) => Self::SendOnly,
            (false, true, true, true) => Self::SendOnlyImmediate,
            (true, true, false, _) => Self::WriteFirst,
            (true, false, false, _) => Self::WriteMiddle,
            (true, false, true, false) => Self::WriteLast,
            (true, false, true, true) => Self::WriteLastImmediate,
            (true, true, true, false) => Self::WriteOnly,
            (true, true, true, true) => Self::WriteOnlyImmediate,
        }
    }

    /// Its name, after that of the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SendFirst => "SEND_FIRST",
            Self::SendMiddle => "SEND_MIDDLE",
            Self::SendLast => "SEND_LAST",
            Self::SendLastImmediate => "SEND_LAST_WITH_IMMEDIATE",
            Self::SendOnly => "SEND_ONLY",
            Self::SendOnlyImmediate => "SEND_ONLY_WITH_IMMEDIATE",
            Self::WriteFirst => "RDMA_WRITE_FIRST",
            Self::WriteMiddle => "RDMA_WRITE_MIDDLE",
            Self::WriteLast => "RDMA_WRITE_LAST",
            Self::WriteLastImmediate => "RDMA_WRITE_LAST_WITH_IMMEDIATE",
            Self::WriteOnly => "RDMA_WRITE_ONLY",
            Self::WriteOnlyImmediate => "RDMA_WRITE_ONLY_WITH_IMMEDIATE",
            Self::ReadRequest => "RDMA_READ_REQUEST",
            Self::Acknowledge => "ACKNOWLEDGE",
            Self::CompareSwap => "COMPARE_SWAP",
            Self::FetchAdd => "FETCH_ADD",
            Self::Reserved15 => "RESERVED_15",
            Self::SendLastInvalidate => "SEND_LAST_WITH_INVALIDATE",
            Self::SendOnlyInvalidate => "SEND_ONLY_WITH_INVALIDATE",
            Self::Reserved18 => "RESERVED_18",
            Self::Reserved19 => "RESERVED_19",
            Self::Reserved1A => "RESERVED_1A",
            Self::Reserved1B => "RESERVED_1B",
            Self::Flush => "FLUSH",
            Self::AtomicWrite => "ATOMIC_WRITE",
            Self::Reserved1E => "RESERVED_1E",
            Self::Reserved1F => "RESERVED_1F",
            Self::Cnp => "CNP",
        }
    }

    /// What it belongs to.
    pub const fn operation(self) -> Operation {
        match self as u8 {
            0x00..=0x05 => Operation::Send,
            0x06..=0x0B => Operation::Write,
            0x11 => Operation::Acknowledge,
            0x81 => Operation::Cnp,
            _ => Operation::Unsupported,
        }
    }

    /// Whether it begins a message: FIRST or ONLY.
    pub const fn is_first(self) -> bool {
        matches!(
            self,
            Self::SendFirst
                | Self::SendOnly
                | Self::SendOnlyImmediate
                | Self::WriteFirst
                | Self::WriteOnly
                | Self::WriteOnlyImmediate
        )
    }

    /// Whether it ends a message: LAST or ONLY.
    pub const fn is_last(self) -> bool {
        !matches!(self, Self::SendFirst | Self::SendMiddle | Self::WriteFirst | Self::WriteMiddle)
    }

    /// Whether immediate data stands in front of the payload.
    pub const fn has_immediate(self) -> bool {
        matches!(
            self,
            Self::SendLastImmediate
                | Self::SendOnlyImmediate
                | Self::WriteLastImmediate
                | Self::WriteOnlyImmediate
        )
    }

    /// Whether an RDMA header stands after the base transport header.
    pub const fn has_reth(self) -> bool {
        matches!(self, Self::WriteFirst | Self::WriteOnly | Self::WriteOnlyImmediate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_have_the_numbers_of_the_standard() {
        let numbers = Opcode::ALL.map(|opcode| opcode as u8);
        // Every request of the reliable connection; of the responses, the acknowledgement alone.
        let expected = (0..=0x0C).chain([0x11]).chain(0x13..=0x1F).chain([0x81]);
        assert!(numbers.into_iter().eq(expected), "{numbers:02x?}");
        let known = (0..=255).filter_map(Opcode::from_number);
        assert!(known.eq(Opcode::ALL));
    }

    #[test]
    fn position_in_a_message_and_headers_follow_from_the_opcode() {
        for opcode in &Opcode::ALL[..12] {
            let is_write = opcode.operation() == Operation::Write;
            let parts = (opcode.is_first(), opcode.is_last(), opcode.has_immediate());
            assert_eq!(Opcode::of_packet(is_write, parts.0, parts.1, parts.2), *opcode);
            assert_eq!(opcode.has_reth(), is_write && opcode.is_first());
        }
    }
}
