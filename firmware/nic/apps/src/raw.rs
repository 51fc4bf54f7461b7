//! Applications on whole frames.
//!
//! Each takes one frame from the server's receive queue, and returns whether there was one. They access
//! packet memory in halves: a processor without a barrel shifter takes 16 cycles to move a half of a
//! word to the other.

use samplewire_nic_driver::{Buffer, Bus, FRAME_OFFSET, Server};

/// Sends each frame back as it is.
#[inline(always)]
pub fn forward<B: Bus>(server: &Server<B>) -> bool {
    let Some(buffer) = server.receive() else { return false };
    server.transmit(buffer);
    true
}

/// Sends each frame back with its two addresses swapped.
#[inline(always)]
pub fn swap<B: Bus>(server: &Server<B>) -> bool {
    let Some(mut buffer) = server.receive() else { return false };
    with_head(&mut buffer, swap_addresses);
    server.transmit(buffer);
    true
}

/// Sends each frame of EtherType 0x88B5 back with its two addresses swapped, and frees others.
#[inline(always)]
pub fn echo<B: Bus>(server: &Server<B>) -> bool {
    let Some(mut buffer) = server.receive() else { return false };
    let is_ours = with_head(&mut buffer, |head| {
        let is_ours = head[2 * ADDRESS_HALVES] == ETHERTYPE.to_be();
        if is_ours {
            swap_addresses(head);
        }
        is_ours
    });
    if is_ours {
        server.transmit(buffer);
    }
    true
}

/// Destination, source and EtherType, in halves.
#[inline(always)]
fn with_head<B: Bus, R>(buffer: &mut Buffer<B>, f: impl FnOnce(&mut [u16; 7]) -> R) -> R {
    // 24 bytes are in every buffer, however short the frame is.
    buffer.units(FRAME_OFFSET + 16, |halves: &mut [u16]| {
        let head = halves[FRAME_OFFSET / 2..].first_chunk_mut().expect("seven halves");
        f(head)
    })
}

#[inline(always)]
fn swap_addresses(head: &mut [u16; 7]) {
    let [d0, d1, d2, s0, s1, s2, _] = *head;
    [head[0], head[1], head[2]] = [s0, s1, s2];
    [head[3], head[4], head[5]] = [d0, d1, d2];
}

const ADDRESS_HALVES: usize = 3;

/// IEEE 802 keeps it for local experiments.
const ETHERTYPE: u16 = 0x88B5;
