//! A TCP/IP host: ARP, ping, UDP echo, DHCP and a TCP console. It brings the sender of samples up too, so
//! that a board needs no other processor.
//!
//! Processor 0 is the host and gets all frames; the others stop.

#![no_std]
#![no_main]

use samplewire_nic_apps::{Stack, StackConfig, Storage};
use samplewire_nic_driver::regs::sender;
use samplewire_nic_driver::{Bus, Setup, Source, configure};
use samplewire_nic_images::{MAC, OUR_FRAMES};
use samplewire_nic_runtime::{Clock, Mmio, entry, soc};
use smoltcp::time::Instant;

entry!(main);

/// The address until a DHCP server gives another one.
const IP: [u8; 4] = [10, 64, 0, 2];
const PREFIX_BITS: u8 = 24;

/// What the sender has beside its address; change it to suit the board.
const SENDER: Setup<'static> = Setup {
    mac: MAC,
    ip: IP,
    port: 9100,
    channels: 1,
    payload_bytes: 1408,
    rate_hz: 0,
    source: Source::Converter,
    source_rate_q: 0,
    line_gbps: 10,
    pace_bytes_per_ns_q: 0,
    idle_ms: 100,
    dead_ms: 15_000,
    tolerance_16ns: 3125,
    boot_id: 0,
    secret: [0; 2],
    gate_samples: 0,
    name: "samplewire board",
};

fn main() -> ! {
    let server = samplewire_nic_images::start(1, OUR_FRAMES);
    if soc::core() != 0 {
        soc::stop();
    }
    let mut storage = Storage::new();
    let config =
        StackConfig { mac: MAC, ip: IP, prefix_bits: PREFIX_BITS, seed: u64::from(soc::cycles()) };
    let mut stack = Stack::new(Mmio, server, &config, &mut storage);
    let mut clock = Clock::new();
    let mut now = Instant::ZERO;
    let mut has_come = false;
    let mut is_sender_ours = false;
    let mut ip = IP;
    loop {
        let (millis, is_next) = clock.read();
        if is_next {
            now = Instant::from_millis(millis as i64);
            soc::check_stack();
        }
        if !stack.poll(now) {
            continue;
        }
        if !has_come {
            has_come = true;
            is_sender_ours = bring_sender_up();
        }
        let (address, _) = stack.address();
        if is_sender_ours && address != ip {
            ip = address;
            Mmio.write_sender(sender::IP, u32::from_be_bytes(ip));
        }
    }
}

/// Configures the sender, if the board has one and no other program has, once the first frame has come:
/// the cycle in which it came is all that this board has of randomness. It makes the boot ID and the
/// secret differ from start to start; a stranger on the network may guess them.
fn bring_sender_up() -> bool {
    let mut state = u64::from(soc::cycles());
    let mut drawn = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    };
    let setup = Setup { boot_id: drawn(), secret: [drawn(), drawn()], ..SENDER };
    let result = configure(Mmio, &setup);
    soc::print(match result {
        Ok(()) => "sender: up\n",
        Err(error) => error.text(),
    });
    result.is_ok()
}
