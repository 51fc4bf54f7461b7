//! The host at the model of the NIC; at the other end frames by hand, and a host of smoltcp that
//! verifies every checksum.

extern crate std;

use std::collections::VecDeque;
use std::string::String;
use std::vec;
use std::vec::Vec;

use samplewire_nic_driver::model::Model;
use samplewire_nic_driver::regs::nic;
use samplewire_nic_driver::{Bus, Choice, Config, Nic, Server};
use smoltcp::iface::{Interface, SocketSet, SocketStorage};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address};

use super::{Stack, StackConfig, Storage};

const MAC: [u8; 6] = [2, 0x53, 0x57, 0x49, 0x52, 0];
const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const IP: [u8; 4] = [10, 64, 0, 2];
const PEER_IP: [u8; 4] = [10, 64, 0, 9];
const NOW: Instant = Instant::from_millis_const(1);

/// Runs `f` with a host whose DHCP client has sent its first frame.
fn with_stack(model: &Model, f: impl FnOnce(&mut Stack<'_, &Model>)) {
    let config = Config { mac: MAC, servers: 1, choice: Choice::Turns, buffers: 64, filter: 3 };
    Nic::new(model).start(&config).expect("a NIC after its reset");
    let mut storage = Storage::new();
    let config = StackConfig { mac: MAC, ip: IP, prefix_bits: 24, seed: 1 };
    let mut stack = Stack::new(model, Server::new(model, 0), &config, &mut storage);
    assert!(!stack.poll(Instant::ZERO));
    let discover = model.leave(0).expect("DHCP begins");
    assert_eq!((&discover[..6], &discover[36..38]), (&[0xFF; 6][..], &[0, 67][..]));
    assert_right(&discover);
    f(&mut stack);
}

/// The sum of RFC 1071 over bytes.
fn sum(parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> = parts.concat();
    let sum: u64 =
        bytes.chunks(2).map(|c| u64::from(c[0]) << 8 | u64::from(*c.get(1).unwrap_or(&0))).sum();
    let mut sum = sum;
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

fn pseudo(frame: &[u8], len: usize) -> [u8; 12] {
    let mut pseudo = [0; 12];
    pseudo[..8].copy_from_slice(&frame[26..34]);
    pseudo[9] = frame[23];
    pseudo[10..].copy_from_slice(&(len as u16).to_be_bytes());
    pseudo
}

/// Both checksums of an IPv4 frame are right.
fn assert_right(frame: &[u8]) {
    assert_eq!(sum(&[&frame[14..34]]), 0xFFFF, "IPv4");
    let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    let pseudo = pseudo(frame, end - 34);
    let pseudo = if frame[23] == 1 { &[][..] } else { &pseudo };
    assert_eq!(sum(&[pseudo, &frame[34..end]]), 0xFFFF, "protocol {}", frame[23]);
}

/// An IPv4 frame from the peer with right checksums; the field is at `at` of `body`.
fn ipv4(protocol: u8, body: &[u8], at: usize) -> Vec<u8> {
    let mut frame = [&MAC[..], &PEER_MAC, &[8, 0, 0x45, 0]].concat();
    frame.extend((20 + body.len() as u16).to_be_bytes());
    frame.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(PEER_IP);
    frame.extend(IP);
    let header = !sum(&[&frame[14..34]]);
    frame[24..26].copy_from_slice(&header.to_be_bytes());
    frame.extend(body);
    let pseudo = pseudo(&frame, body.len());
    let pseudo = if protocol == 1 { &[][..] } else { &pseudo };
    let checksum = !sum(&[pseudo, body]);
    frame[34 + at..36 + at].copy_from_slice(&checksum.to_be_bytes());
    frame
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut body = [&4000_u16.to_be_bytes()[..], &port.to_be_bytes()].concat();
    body.extend((8 + payload.len() as u16).to_be_bytes());
    body.extend([0, 0]);
    body.extend(payload);
    ipv4(17, &body, 6)
}

fn ping(payload: &[u8]) -> Vec<u8> {
    ipv4(1, &[&[8, 0, 0, 0, 0x77, 1, 0, 5][..], payload].concat(), 2)
}

/// What comes back within a few polls.
fn answer(model: &Model, stack: &mut Stack<'_, &Model>, frame: &[u8]) -> Option<Vec<u8>> {
    assert!(model.arrive(0, frame), "a buffer is free");
    for _ in 0..3 {
        stack.poll(NOW);
    }
    model.leave(0)
}

/// The peer makes itself known, so that nothing waits for its address.
fn arp(model: &Model, stack: &mut Stack<'_, &Model>) -> Option<Vec<u8>> {
    let mut frame = [&[0xFF; 6][..], &PEER_MAC, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1]].concat();
    frame.extend([&PEER_MAC[..], &PEER_IP, &[0; 6], &IP].concat());
    answer(model, stack, &frame)
}

#[test]
fn arp_is_answered() {
    let model = Model::new();
    with_stack(&model, |stack| {
        let reply = arp(&model, stack).expect("an answer");
        assert_eq!(reply[..12], [PEER_MAC, MAC].concat());
        assert_eq!(reply[20..32], [&[0, 2][..], &MAC, &IP].concat());
    });
}

#[test]
fn host_answers_after_received_frames_had_all_buffers() {
    let model = Model::new();
    with_stack(&model, |stack| {
        let garbage = [&MAC[..], &PEER_MAC, &[0xAB; 48]].concat();
        let mut count = 0;
        while model.arrive(0, &garbage) {
            count += 1;
        }
        for _ in 0..count {
            stack.poll(NOW);
        }
        assert_eq!(stack.counters().no_buffer, 1);
        assert!(arp(&model, stack).is_some());
    });
    assert!(model.has_all());
}

#[test]
fn ping_of_each_length_is_answered_with_its_bytes() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        for len in (0..70).chain([1471, 1472]) {
            let payload: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
            let reply = answer(&model, stack, &ping(&payload)).expect("an answer");
            assert_right(&reply);
            assert_eq!((reply[34], &reply[42..]), (0, &payload[..]));
        }
    });
    // The host is gone, and its spare buffer too.
    assert!(model.has_all());
}

#[test]
fn udp_echo_of_each_length_comes_back() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        for len in (0..70).chain([1000, 1471, 1472]) {
            let payload: Vec<u8> = (0..len).map(|n| (n * 5 + 1) as u8).collect();
            let reply = answer(&model, stack, &udp(7, &payload)).expect("an answer");
            assert_right(&reply);
            assert_eq!(reply[34..38], [0, 7, 0x0F, 0xA0]);
            assert_eq!(reply[42..], payload);
        }
        assert_eq!(stack.counters().bad_checksum, 0);
    });
}

#[test]
fn every_changed_byte_of_a_udp_frame_drops_it() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let good = udp(7, &[0x5A; 31]);
        let mut dropped = 0;
        for at in 14..good.len() {
            let mut frame = good.clone();
            frame[at] ^= 0x10;
            assert_eq!(answer(&model, stack, &frame), None, "byte {at}");
            dropped += 1;
        }
        // The version, changed, makes it no IPv4: smoltcp ignores it.
        assert_eq!(stack.counters().bad_checksum, dropped - 1);
        assert!(answer(&model, stack, &good).is_some());
    });
}

#[test]
fn udp_without_a_checksum_is_taken() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let mut frame = udp(7, b"abc");
        frame[40..42].fill(0);
        let reply = answer(&model, stack, &frame).expect("an answer");
        assert_right(&reply);
        assert_ne!(reply[40..42], [0, 0]);
    });
}

#[test]
fn udp_checksum_of_zero_is_sent_as_all_ones() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let zero = (0..=u16::MAX).find(|n| {
            let frame = udp(7, &n.to_be_bytes());
            // Back, addresses and ports are swapped and the sum is the same.
            frame[40..42] == [0, 0]
        });
        let mut frame = udp(7, &zero.expect("one of all sums").to_be_bytes());
        frame[40..42].fill(0xFF);
        let reply = answer(&model, stack, &frame).expect("an answer");
        assert_eq!(reply[40..42], [0xFF, 0xFF]);
    });
}

#[test]
fn wrong_tcp_checksum_is_dropped() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let mut syn = [&4000_u16.to_be_bytes()[..], &23_u16.to_be_bytes()].concat();
        syn.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 8, 0, 0, 0, 0, 0]);
        let good = ipv4(6, &syn, 16);
        let mut bad = good.clone();
        bad[50] ^= 1;
        assert_eq!(answer(&model, stack, &bad), None);
        assert_eq!(stack.counters().bad_checksum, 1);
        let reply = answer(&model, stack, &good).expect("SYN and ACK");
        assert_right(&reply);
        assert_eq!(reply[47] & 0x12, 0x12);
    });
}

#[test]
fn fragments_and_lengths_that_do_not_fit_are_dropped() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let refresh = |frame: &mut Vec<u8>| {
            frame[24..26].fill(0);
            let header = !sum(&[&frame[14..34]]);
            frame[24..26].copy_from_slice(&header.to_be_bytes());
        };
        for (high, low) in [(0x20, 0), (0, 1), (0x1F, 0xFF)] {
            let mut frame = ping(b"part");
            (frame[20], frame[21]) = (high, low);
            refresh(&mut frame);
            assert_eq!(answer(&model, stack, &frame), None);
        }
        assert_eq!(stack.counters().fragments, 3);
        for (at, value) in [(16, 0xFF), (17, 200), (17, 27), (17, 21), (14, 0x44), (14, 0x4F)] {
            let mut frame = ping(b"");
            frame[at] = value;
            refresh(&mut frame);
            assert_eq!(answer(&model, stack, &frame), None);
        }
        assert_eq!(stack.counters().bad_checksum, 6);
        for len in [0, 1, 7, 10, 0xFFFF_u16] {
            let mut frame = udp(7, b"x");
            frame[38..40].copy_from_slice(&len.to_be_bytes());
            assert_eq!(answer(&model, stack, &frame), None);
        }
        assert_eq!(stack.counters().bad_checksum, 11);
        // Frames of every short length: none may be read beyond.
        let whole = udp(7, b"x");
        for len in 14..whole.len() {
            assert_eq!(answer(&model, stack, &whole[..len]), None);
        }
    });
}

#[test]
fn ip_options_are_summed() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let mut frame = ping(b"options");
        frame.splice(34..34, [1, 1, 1, 0]);
        (frame[14], frame[17]) = (0x46, frame[17] + 4);
        frame[24..26].fill(0);
        let header = !sum(&[&frame[14..38]]);
        frame[24..26].copy_from_slice(&header.to_be_bytes());
        assert_eq!(answer(&model, stack, &frame).expect("an answer")[42..], *b"options");
        frame[35] ^= 1;
        assert_eq!(answer(&model, stack, &frame), None);
    });
}

#[test]
fn frame_makes_room_for_an_answer_while_no_buffer_is_free() {
    let model = Model::new();
    with_stack(&model, |stack| {
        // The spare has left with the first frame of DHCP.
        assert!(model.arrive(0, &ping(b"")));
        let server = Server::new(&model, 0);
        let all: Vec<_> = std::iter::from_fn(|| server.allocate()).collect();
        assert_eq!(all.len(), 63);
        assert!(!stack.poll(NOW), "the frame is dropped");
        assert_eq!((stack.counters().received, stack.counters().no_buffer), (0, 1));
        assert!(!stack.poll(NOW), "there is a spare");
        drop(all);
        assert!(arp(&model, stack).is_some());
    });
    assert!(model.has_all());
}

/// XorShift.
struct Drawn(u32);

impl Drawn {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % end
    }
}

#[test]
fn changed_frames_with_right_checksums_neither_panic_nor_lose_a_buffer() {
    let model = Model::new();
    with_stack(&model, |stack| {
        arp(&model, stack);
        let tcp = |flags: u8, options: &[u8]| {
            let mut body = [&4000_u16.to_be_bytes()[..], &23_u16.to_be_bytes()].concat();
            body.extend([0, 0, 0, 1, 0, 0, 0, 0, (20 + options.len() as u8) << 2, flags, 8, 0]);
            body.extend([0, 0, 0, 0]);
            body.extend(options);
            body.extend(b"read nic.filter\n");
            body
        };
        let discover = [0; 64];
        let bases = [
            (1, ping(b"ping")[34..].to_vec(), 2),
            (17, udp(7, b"echo")[34..].to_vec(), 6),
            (17, dhcp(&discover, 2, IP)[34..].to_vec(), 6),
            (6, tcp(2, &[2, 4, 5, 180, 1, 3, 3, 7]), 16),
            (6, tcp(0x10, &[]), 16),
            (6, tcp(0x18, &[5, 10, 0, 0, 0, 1, 0, 0, 0, 9, 1, 1]), 16),
        ];
        let mut drawn = Drawn(0x5357_4957);
        let mut taken = 0;
        for n in 0..2_000 {
            let (protocol, body, at) = &bases[drawn.below(bases.len())];
            let mut body = body.clone();
            for _ in 0..drawn.below(4) {
                let at = drawn.below(body.len());
                body[at] = drawn.below(256) as u8;
            }
            if drawn.below(4) == 0 {
                body.truncate(*at + 2 + drawn.below(body.len() - *at));
            }
            body[*at] = 0;
            body[*at + 1] = 0;
            let mut frame = ipv4(*protocol, &body, *at);
            if drawn.below(8) == 0 {
                let at = drawn.below(frame.len());
                frame[at] ^= 1 << drawn.below(8);
            }
            let before = stack.counters().received;
            assert!(model.arrive(0, &frame));
            while stack.poll(Instant::from_millis(1 + n / 4)) {}
            taken += stack.counters().received - before;
            while let Some(frame) = model.leave(0) {
                if frame[12..14] == [8, 0] {
                    assert_right(&frame);
                }
            }
        }
        assert!(taken > 1_200, "most reach smoltcp: {taken}");
    });
    assert!(model.has_all());
}

/// A DHCP server's message for the client that has sent `asked`.
fn dhcp(asked: &[u8], kind: u8, lease: [u8; 4]) -> Vec<u8> {
    let mut body = [&67_u16.to_be_bytes()[..], &68_u16.to_be_bytes(), &[0; 4]].concat();
    body.extend([2, 1, 6, 0]);
    // The transaction.
    body.extend(&asked[46..50]);
    body.extend([0; 8]);
    body.extend(lease);
    body.extend(PEER_IP);
    body.extend([0; 4]);
    body.extend(MAC);
    body.extend([0; 10 + 64 + 128]);
    body.extend([0x63, 0x82, 0x53, 0x63, 53, 1, kind, 54, 4]);
    body.extend(PEER_IP);
    body.extend([51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 255, 0, 3, 4]);
    body.extend(PEER_IP);
    body.push(255);
    let len = (body.len() as u16).to_be_bytes();
    body[4..6].copy_from_slice(&len);
    let mut frame = ipv4(17, &body, 6);
    frame[..6].fill(0xFF);
    frame
}

#[test]
fn lease_of_a_dhcp_server_replaces_the_address() {
    let model = Model::new();
    let config = Config { mac: MAC, servers: 1, choice: Choice::Turns, buffers: 64, filter: 3 };
    Nic::new(&model).start(&config).expect("a NIC after its reset");
    let mut storage = Storage::new();
    let config = StackConfig { mac: MAC, ip: IP, prefix_bits: 24, seed: 1 };
    let mut stack = Stack::new(&model, Server::new(&model, 0), &config, &mut storage);
    stack.poll(Instant::ZERO);
    let discover = model.leave(0).expect("DISCOVER");
    let lease = [10, 64, 0, 77];
    let request = answer(&model, &mut stack, &dhcp(&discover, 2, lease)).expect("REQUEST");
    assert_right(&request);
    assert_eq!(stack.address(), (IP, 24));
    assert_eq!(answer(&model, &mut stack, &dhcp(&request, 5, lease)), None);
    assert_eq!(stack.address(), (lease, 24));
    let mut frame = ping(b"leased");
    frame[30..34].copy_from_slice(&lease);
    frame[24..26].fill(0);
    let header = !sum(&[&frame[14..34]]);
    frame[24..26].copy_from_slice(&header.to_be_bytes());
    assert!(arp(&model, &mut stack).is_none(), "the address before");
    // It resolves the peer's address first.
    let question = answer(&model, &mut stack, &frame).expect("a question");
    assert_eq!(question[12..14], [8, 6]);
}

/// The other end: a host of smoltcp with its own checksums, over the model.
struct Peer<'m> {
    model: &'m Model,
    received: VecDeque<Vec<u8>>,
}

struct Received(Vec<u8>);
struct Sent<'m>(&'m Model);

impl phy::RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Sent<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        assert!(self.0.arrive(0, &frame));
        result
    }
}

impl phy::Device for Peer<'_> {
    type RxToken<'a>
        = Received
    where
        Self: 'a;
    type TxToken<'a>
        = Sent<'a>
    where
        Self: 'a;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sent<'_>)> {
        Some((Received(self.received.pop_front()?), Sent(self.model)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sent<'_>> {
        Some(Sent(self.model))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

/// What the console answers to `lines`, up to the last line that ends with `until`.
fn console(model: &Model, lines: &[u8], until: &str) -> String {
    let mut text = Vec::new();
    with_stack(model, |stack| {
        let mut device = Peer { model, received: VecDeque::new() };
        let hardware = HardwareAddress::Ethernet(EthernetAddress(PEER_MAC));
        let mut host = Interface::new(smoltcp::iface::Config::new(hardware), &mut device, NOW);
        let [a, b, c, d] = PEER_IP;
        host.update_ip_addrs(|ips| {
            ips.push(IpCidr::new(Ipv4Address::new(a, b, c, d).into(), 24)).expect("the first");
        });
        let mut storage = [SocketStorage::EMPTY; 1];
        let (mut received, mut sent) = ([0; 4096], [0; 4096]);
        let mut sockets = SocketSet::new(&mut storage[..]);
        let socket = tcp::Socket::new(
            tcp::SocketBuffer::new(&mut received[..]),
            tcp::SocketBuffer::new(&mut sent[..]),
        );
        let handle = sockets.add(socket);
        let [a, b, c, d] = IP;
        sockets
            .get_mut::<tcp::Socket<'_>>(handle)
            .connect(host.context(), (Ipv4Address::new(a, b, c, d), 23), 50_000)
            .expect("a connection");
        let mut to_send = lines;
        for ms in 2..4000 {
            let now = Instant::from_millis(ms);
            host.poll(now, &mut device, &mut sockets);
            while stack.poll(now) {}
            while let Some(frame) = model.leave(0) {
                device.received.push_back(frame);
            }
            let socket = sockets.get_mut::<tcp::Socket<'_>>(handle);
            if socket.can_send() && !to_send.is_empty() {
                let sent = socket.send_slice(to_send).expect("it can send");
                to_send = &to_send[sent..];
            }
            let mut bytes = [0; 500];
            while let Ok(len @ 1..) = socket.recv_slice(&mut bytes) {
                text.extend(&bytes[..len]);
            }
            if text.ends_with(until.as_bytes()) {
                socket.close();
            }
            if socket.state() == tcp::State::TimeWait {
                break;
            }
        }
        let socket = sockets.get_mut::<tcp::Socket<'_>>(handle);
        assert_eq!(socket.state(), tcp::State::TimeWait, "both ends have closed");
        assert_eq!(stack.counters().bad_checksum, 0);
    });
    String::from_utf8(text).expect("ASCII")
}

#[test]
fn console_reads_and_writes_registers() {
    let model = Model::new();
    let lines = b"read nic.filter\r\nwrite nic.filter 0x8\nread nic.filter\nwrite nic.servers 2\n\
        read nic.servers\n";
    let text = console(&model, lines, "0x00000002\r\n");
    assert_eq!(text, "0x00000003\r\nok\r\n0x00000008\r\nok\r\n0x00000002\r\n");
    assert_eq!((&model).read(nic::FILTER), 8);
}

#[test]
fn console_refuses_what_would_move_a_buffer_or_is_no_command() {
    let model = Model::new();
    let lines = b"read nic.free\nwrite nic.free 0\nread nic.receive_0\nwrite nic.base 0\nread sender.id\n\
        read nic.none\nwrite nic.filter x\nhelp\n\xFF\n0123456789012345678901234567890123456789012345678901234567890\
        12345678901234567890\nread nic.filter\n";
    let text = console(&model, lines, "0x00000003\r\n");
    let all: Vec<&str> = text.lines().collect();
    assert_eq!(all.len(), 11, "{text}");
    assert!(all[..10].iter().all(|line| line.starts_with("error: ")), "{text}");
}

#[test]
fn console_lists_all_counters_and_reads_the_sender() {
    let model = Model::with_sender();
    let text = console(&model, b"counters\nread sender.id\n", "0x53574952\r\n");
    let names: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected = 5 + nic::COUNTERS.len() + samplewire_nic_driver::regs::sender::COUNTERS.len();
    assert_eq!(names.len(), expected + 2, "{text}");
    assert_eq!(names[expected], "ok");
    assert!(names.contains(&"nic.mac_rx_dropped") && names.contains(&"device.sent"));
}
