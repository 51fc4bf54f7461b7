//! Names of the protocol's numbers.

use samplewire_proto::wire::{CloseAckReason, Flags, PacketType, RefuseReason, Role, TlvKind};

use super::packet::RESERVED_FLAG;

/// The name of a type, `None` for a reserved number.
pub(super) fn of_type(number: u8) -> Option<&'static str> {
    PacketType::from_number(number).map(PacketType::name)
}

/// The names of the flags that are set.
pub(super) fn of_flags(flags: Flags) -> impl Iterator<Item = &'static str> {
    FLAGS.into_iter().filter(move |(bit, _)| flags.contains(*bit)).map(|(_, name)| name)
}

pub(super) const fn of_role(role: Role) -> &'static str {
    match role {
        Role::Describe => "describe",
        Role::Receive => "receive",
        Role::Send => "send",
    }
}

pub(super) fn of_delivery(number: u8) -> String {
    match number {
        0 => "complete".into(),
        1 => "deadline".into(),
        2 => "best effort".into(),
        other => format!("delivery {other}"),
    }
}

pub(super) fn of_refusal(reason: RefuseReason) -> String {
    let name = match reason {
        RefuseReason::Busy => "busy",
        RefuseReason::NoSuchStream => "no such stream",
        RefuseReason::Role => "role",
        RefuseReason::PacketSize => "packet size",
        RefuseReason::Version => "version",
        RefuseReason::Window => "window",
        RefuseReason::Format => "format",
        RefuseReason::Delivery => "delivery",
        RefuseReason::Trailer => "trailer",
        RefuseReason::StartIndex => "start index",
        RefuseReason::Unknown(number) => return format!("reason {number}"),
    };
    name.into()
}

pub(super) fn of_close_ack(reason: CloseAckReason) -> String {
    match reason {
        CloseAckReason::Done => "done".into(),
        CloseAckReason::UnknownTag => "unknown tag".into(),
        CloseAckReason::Unknown(number) => format!("reason {number}"),
    }
}

/// The name of a TLV kind, `None` for a kind of a later version.
pub(super) const fn of_tlv(kind: u16) -> Option<&'static str> {
    Some(match kind {
        TlvKind::CENTRE_FREQUENCY => "centre frequency",
        TlvKind::NAME => "name",
        TlvKind::CLOCK_QUALITY => "clock quality",
        TlvKind::SAMPLE_RATE => "sample rate",
        TlvKind::GAIN => "gain",
        TlvKind::BANDWIDTH => "bandwidth",
        TlvKind::REFERENCE => "reference",
        TlvKind::RANGES => "ranges",
        TlvKind::UNDERFLOW => "underflow",
        TlvKind::QUEUE_PAIR => "queue pair",
        TlvKind::SLOTS => "slots",
        _ => return None,
    })
}

const FLAGS: [(Flags, &str); 8] = [
    (Flags::START, "START"),
    (Flags::END_OF_BURST, "END_OF_BURST"),
    (Flags::OVERFLOW, "OVERFLOW"),
    (Flags::RETRANSMISSION, "RETRANSMISSION"),
    (Flags::META, "META"),
    (Flags::ASK, "ASK"),
    (Flags(RESERVED_FLAG), "RESERVED"),
    (Flags::FROM_OPENER, "FROM_OPENER"),
];
