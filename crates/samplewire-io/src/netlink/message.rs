//! Messages and attributes of netlink (`linux/netlink.h`): lengths are checked here alone.

/// Walks the messages of a reply; ends at the first that does not fit.
#[derive(Clone, Copy, Debug)]
pub struct Messages<'a>(&'a [u8]);

/// A message without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type.
    pub kind: u16,
    /// What follows the header.
    pub body: &'a [u8],
}

/// Walks the attributes of a message; ends at the first that does not fit.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a>(&'a [u8]);

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type, without the flags of nesting and byte order.
    pub kind: u16,
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Walks the messages in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let len = u32::from_ne_bytes(self.0.get(..4)?.try_into().ok()?) as usize;
        let kind = u16::from_ne_bytes(self.0.get(4..6)?.try_into().ok()?);
        let body = self.0.get(HEADER_BYTES..len)?;
        self.0 = self.0.get(aligned(len)..).unwrap_or_default();
        Some(Message { kind, body })
    }
}

impl<'a> Message<'a> {
    /// The attributes after a header of so many bytes.
    pub fn attributes(&self, header_bytes: usize) -> Attributes<'a> {
        Attributes(self.body.get(aligned(header_bytes)..).unwrap_or_default())
    }

    /// The error number of an error message; 0 confirms. `None` for other messages.
    pub fn error(&self) -> Option<i32> {
        let number = || Some(i32::from_ne_bytes(self.body.get(..4)?.try_into().ok()?));
        (self.kind == NLMSG_ERROR).then(|| number().unwrap_or(-libc::EPROTO).saturating_neg())
    }

    /// Whether it ends a dump.
    pub const fn is_done(&self) -> bool {
        self.kind == NLMSG_DONE
    }
}

impl<'a> Attributes<'a> {
    /// Walks the attributes in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The first of a type.
    pub fn get(mut self, kind: u16) -> Option<Attribute<'a>> {
        self.find(|it| it.kind == kind)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let len = usize::from(u16::from_ne_bytes(self.0.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(self.0.get(2..4)?.try_into().ok()?) & KIND_BITS;
        let value = self.0.get(4..len)?;
        self.0 = self.0.get(aligned(len)..).unwrap_or_default();
        Some(Attribute { kind, value })
    }
}

impl<'a> Attribute<'a> {
    /// A number of 1, 2, 4 or 8 bytes in the host's order.
    pub fn number(&self) -> Option<u64> {
        match *self.value {
            [byte] => Some(byte.into()),
            [a, b] => Some(u16::from_ne_bytes([a, b]).into()),
            [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d]).into()),
            _ => Some(u64::from_ne_bytes(self.value.try_into().ok()?)),
        }
    }

    /// A number of 4 bytes in network order, as nftables has them.
    pub fn network_number(&self) -> Option<u32> {
        Some(u32::from_be_bytes(self.value.try_into().ok()?))
    }

    /// A text up to its zero.
    pub fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.value.split(|&byte| byte == 0).next()?).ok()
    }

    /// The attributes in it.
    pub const fn nested(&self) -> Attributes<'a> {
        Attributes(self.value)
    }
}

const fn aligned(len: usize) -> usize {
    len.saturating_add(3) & !3
}

/// Adds an attribute to a request. Its value has a multiple of 4 bytes.
pub(super) fn push(request: &mut Vec<u8>, kind: u16, value: &[u8]) {
    request.extend((ATTRIBUTE_HEADER_BYTES + value.len() as u16).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend_from_slice(value);
}

/// Bytes of `nlattr`.
const ATTRIBUTE_HEADER_BYTES: u16 = 4;
/// Bytes of `nlmsghdr`.
pub(super) const HEADER_BYTES: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Without NLA_F_NESTED and NLA_F_NET_BYTEORDER.
const KIND_BITS: u16 = 0x3fff;

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const REPLY: [u8; 44] = [
        28, 0, 0, 0, 0x15, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, // header
        8, 0, 1, 0, 7, 0, 0, 0, // attribute 1: a word
        4, 0, 2, 0x80, // attribute 2: nested, empty
        16, 0, 0, 0, 3, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, // the end of the dump
    ];

    #[test]
    fn messages_and_attributes_are_walked() {
        let messages: Vec<_> = Messages::new(&REPLY).collect();
        assert_eq!(messages.len(), 2);
        let attributes = messages[0].attributes(0);
        assert_eq!(attributes.get(1).unwrap().number(), Some(7));
        assert_eq!(attributes.get(2).unwrap().nested().count(), 0);
        assert_eq!(attributes.count(), 2);
        assert!(messages[1].is_done());
    }

    #[test]
    fn lengths_that_do_not_fit_end_the_walk() {
        for cut in 0..REPLY.len() {
            let messages = Messages::new(&REPLY[..cut]).map(|it| it.attributes(0).count());
            assert!(messages.sum::<usize>() <= 2);
        }
        for len in [0_u32, 3, 15, u32::MAX] {
            let mut bytes = REPLY;
            bytes[..4].copy_from_slice(&len.to_le_bytes());
            assert_eq!(Messages::new(&bytes).count(), 0, "{len}");
        }
        assert_eq!(Attributes::new(&[3, 0, 1, 0, 9]).count(), 0);
        assert_eq!(Attributes::new(&[255, 255, 1, 0, 9]).count(), 0);
    }
}
