//! The TCP/IP host of processor 0.

use samplewire_nic_apps::{Stack, StackConfig, Storage, answer};
use samplewire_nic_driver::regs::sender;
use samplewire_nic_driver::{Addresses, Bus, Choice, Server, Setup, Source, configure};
use samplewire_nic_runtime::{Clock, Mmio, soc};
use smoltcp::time::Instant;

use crate::{OUR_FRAMES, own_mac, start};

/// Whose addresses a host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Those of the sender. `ctl_cpu` answers ARP requests and ping then, once the sender is enabled.
    OfSender,
    /// Its own; the sender is left alone.
    Apart,
}

/// Runs the host on processor 0. It gets all frames but those of data, if there are others for these.
#[inline(always)]
pub fn run_host(place: Place) -> ! {
    let enabled = if place == Place::OfSender { Addresses::of_sender(Mmio) } else { None };
    let own = if place == Place::OfSender { STACK_IP } else { APART_IP };
    let Addresses { mac, mut ip } =
        enabled.unwrap_or_else(|| Addresses { mac: own_mac(), ip: own });
    let server = start(Choice::Control, OUR_FRAMES, mac);
    if soc::core() != 0 {
        run_data(&server, mac);
    }
    let mut storage = Storage::new();
    let config = StackConfig { mac, ip, prefix_bits: PREFIX_BITS, seed: u64::from(soc::cycles()) };
    let mut stack = Stack::new(Mmio, server, &config, &mut storage);
    let mut clock = Clock::new();
    let mut now = Instant::ZERO;
    let mut is_sender_due = place == Place::OfSender && enabled.is_none();
    loop {
        let (millis, is_next) = clock.read();
        if is_next {
            now = Instant::from_millis(millis as i64);
            soc::check_stack();
        }
        if !stack.poll(now) {
            let wait = stack.poll_at().map_or(SLEEP_MS_MAX, |at| (at - now).total_millis());
            soc::sleep_until(clock.after_ms(wait.min(SLEEP_MS_MAX) as u32));
            continue;
        }
        if is_sender_due {
            is_sender_due = false;
            bring_sender_up(Addresses { mac, ip });
        }
        let (address, _) = stack.address();
        if address != ip && place == Place::OfSender {
            ip = address;
            Mmio.write_sender(sender::IP, u32::from_be_bytes(ip));
        }
    }
}

/// Runs the data plane on each other processor: raw frames go back, so what the host has to do does not hold
/// them up.
#[cold]
#[inline(never)]
fn run_data(server: &Server<Mmio>, mac: [u8; 6]) -> ! {
    loop {
        if !answer(server, mac) {
            soc::sleep();
        }
    }
}

/// Configures the sender, if the board has one, once the first frame has come: the cycle in which it
/// came is all that this board has of randomness. It makes the boot ID and the secret differ from
/// start to start; a stranger on the network may guess them.
fn bring_sender_up(Addresses { mac, ip }: Addresses) {
    let mut state = u64::from(soc::cycles());
    let mut drawn = || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    };
    let setup = Setup { mac, ip, boot_id: drawn(), secret: [drawn(), drawn()], ..SENDER };
    soc::print(match configure(Mmio, &setup) {
        Ok(()) => "sender: up\n",
        Err(error) => error.text(),
    });
}

/// The addresses until a DHCP server gives others.
const STACK_IP: [u8; 4] = [10, 64, 0, 2];
const APART_IP: [u8; 4] = [10, 64, 0, 3];
const PREFIX_BITS: u8 = 24;

/// The clock is read at least so often.
const SLEEP_MS_MAX: u64 = 1_000;

/// What the sender has beside its addresses; change it to suit the board.
const SENDER: Setup<'static> = Setup {
    mac: [0; 6],
    ip: [0; 4],
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
