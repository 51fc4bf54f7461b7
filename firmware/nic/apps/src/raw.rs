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

/// Sends each frame of EtherType 0x88B5 that a station sends to `mac` back to it, and frees others.
///
/// The frame that comes back is of `mac` with bit 2 of its first byte inverted, like those of `samplewire nic
/// echo`. It is the address of no board, so two boards cannot send a frame to and fro for ever.
#[inline(always)]
pub fn answer<B: Bus>(server: &Server<B>, mac: [u8; 6]) -> bool {
    let Some(mut buffer) = server.receive() else { return false };
    let [a, b, c, d, e, f] = mac;
    let own = [[a, b], [c, d], [e, f]].map(u16::from_ne_bytes);
    let is_ours = with_head(&mut buffer, |head| {
        let is_group = head[3] & GROUP != 0;
        let is_ours = head[2 * ADDRESS_HALVES] == ETHERTYPE.to_be()
            && head[..ADDRESS_HALVES] == own
            && !is_group;
        if is_ours {
            swap_addresses(head);
            head[3] ^= ANSWERED;
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

/// Of the first half of an address: it is of several stations.
const GROUP: u16 = u16::from_ne_bytes([0x01, 0]);
/// Inverted in the source of an answer.
const ANSWERED: u16 = u16::from_ne_bytes([0x04, 0]);

/// IEEE 802 keeps it for local experiments.
const ETHERTYPE: u16 = 0x88B5;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use samplewire_nic_driver::model::Model;
    use samplewire_nic_driver::{Choice, Config, Nic, Server};

    use super::{answer as answer_to, echo, forward, swap};

    type Application = for<'m> fn(&Server<&'m Model>) -> bool;

    /// What comes back of a frame of `len` bytes, whose bytes are their places but for the EtherType.
    fn answer(model: &Model, application: Application, len: usize) -> Option<Vec<u8>> {
        let config =
            Config { mac: [2; 6], servers: 1, choice: Choice::Turns, buffers: 64, filter: 8 };
        Nic::new(model).start(&config).expect("the same each time");
        let server = Server::new(model, 0);
        assert!(!application(&server), "no frame has come");
        let mut frame: Vec<u8> = (0..len as u8).collect();
        frame[12..14].copy_from_slice(&[0x88, 0xB5]);
        assert!(model.arrive(0, &frame));
        assert!(application(&server));
        assert!(model.has_all());
        model.leave(0)
    }

    #[test]
    fn forward_sends_a_frame_back_as_it_is() {
        let model = Model::new();
        let application: Application = |server| forward(server);
        let back = answer(&model, application, 60).expect("a frame");
        assert_eq!(back[..14], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0x88, 0xB5]);
    }

    #[test]
    fn swap_and_echo_swap_the_addresses_alone() {
        let both: [Application; 2] = [|server| swap(server), |server| echo(server)];
        for application in both {
            for len in [14, 15, 60, 200] {
                let model = Model::new();
                let back = answer(&model, application, len).expect("a frame");
                assert_eq!(back[..14], [6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 0x88, 0xB5]);
                assert!(
                    back[14..].iter().enumerate().all(|(n, byte)| usize::from(*byte) == n + 14)
                );
                assert_eq!(back.len(), len);
            }
        }
    }

    #[test]
    fn answer_is_for_a_station_that_sends_to_this_address_and_no_board_answers_it() {
        const OWN: [u8; 6] = [2; 6];
        let of = |destination: [u8; 6], source: [u8; 6], kind: u8| {
            let model = Model::new();
            let config =
                Config { mac: OWN, servers: 1, choice: Choice::Turns, buffers: 64, filter: 8 };
            Nic::new(&model).start(&config).expect("a NIC after its reset");
            let server = Server::new(&model, 0);
            let frame = [&destination[..], &source, &[0x88, kind], &[9; 46]].concat();
            assert!(model.arrive(0, &frame));
            assert!(answer_to(&server, OWN) && !answer_to(&server, OWN) && model.has_all());
            model.leave(0)
        };
        let (host, other) = ([2, 0, 0, 0, 0, 9], [2, 2, 2, 2, 2, 3]);
        let back = of(OWN, host, 0xB5).expect("it is ours");
        assert_eq!(back, [&host[..], &[6, 2, 2, 2, 2, 2, 0x88, 0xB5], &[9; 46]].concat());
        // Another board gets this answer, if it sent the frame.
        assert_eq!(of([6, 2, 2, 2, 2, 2], host, 0xB5), None);
        assert_eq!(of([0xFF; 6], host, 0xB5), None);
        assert_eq!(of(OWN, [0xFF; 6], 0xB5), None);
        assert_eq!(of(OWN, [3, 0, 0, 0, 0, 9], 0xB5), None);
        assert_eq!(of(other, host, 0xB5), None);
        assert_eq!(of(OWN, host, 0xB6), None);
    }

    #[test]
    fn echo_frees_frames_of_other_types() {
        let model = Model::new();
        let application: Application = |server| echo(server);
        assert!(answer(&model, application, 60).is_some());
        for kind in [[0x88, 0xB4], [0xB5, 0x88], [8, 0]] {
            let mut frame = [0; 60];
            frame[12..14].copy_from_slice(&kind);
            assert!(model.arrive(0, &frame));
            assert!(echo(&Server::new(&model, 0)));
            assert!(model.leave(0).is_none());
            assert!(model.has_all());
        }
    }
}
