//! Any bytes as a reply over netlink are walked within their length, and counts of an interface are
//! taken from them or left out.

use samplewire_io::netlink::netdev::{NetDevice, Queue};
use samplewire_io::netlink::route::LinkState;
use samplewire_io::netlink::{Attributes, Messages};

use crate::input::Input;

/// Reads the bytes after the first as a reply to the command that it chooses.
///
/// # Panics
/// When a walk leaves its bytes.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (command, index) = (input.choose(&[1, 9, 10, 12]), u32::from(input.byte()));
    let reply = input.rest();
    let mut device = NetDevice::default();
    let (mut messages, mut used_bytes) = (0_u64, 0);
    for message in Messages::new(reply) {
        messages += 1;
        used_bytes += HEADER_BYTES + message.body.len();
        let error = message.error();
        assert!(error.is_none() || message.kind == 2);
        assert!(walk(message.attributes(4), 0) <= message.body.len());
        device.take(command, &message, index);
        // Interface, kind and number of a queue.
        let has_queue = Queue::of(&message, index).is_some();
        assert!(!has_queue || message.attributes(4).count() >= 3);
        let state = LinkState::of(&message);
        assert!(state.is_none() || message.body.len() >= LINK_BYTES_MIN);
        let has_peer = state.is_some_and(|it| it.veth_peer.is_some());
        assert!(!has_peer || message.body.windows(4).any(|it| it == b"veth"));
    }
    assert!(used_bytes <= reply.len(), "{used_bytes} of {}", reply.len());
    assert!(device.receive_queues.unwrap_or(0) <= messages);
    assert!(command == 1 || device.xdp_features.is_none());
    assert!(command == 9 || device.pages.is_none());
}

/// Bytes of the attributes, without padding; those of a nested one lie within it.
fn walk(attributes: Attributes<'_>, depth: u32) -> usize {
    let mut bytes = 0;
    for attribute in attributes {
        bytes += ATTRIBUTE_BYTES + attribute.value.len();
        let number_len = attribute.value.len();
        assert_eq!(attribute.number().is_some(), matches!(number_len, 1 | 2 | 4 | 8));
        assert!(
            attribute.text().is_none_or(|text| text.len() <= number_len && !text.contains('\0'))
        );
        if depth < DEPTH_MAX {
            assert!(walk(attribute.nested(), depth + 1) <= number_len);
        }
    }
    bytes
}

const HEADER_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
/// The head of a link, and 16 of its statistics in an attribute.
const LINK_BYTES_MIN: usize = 16 + 4 + 128;
const DEPTH_MAX: u32 = 3;
