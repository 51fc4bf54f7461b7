//! Block transfer: keeps a file of up to 64 KiB in program memory, and transfers it back.
//!
//! Processor 0 gets all frames; the others stop.

#![no_std]
#![no_main]

use samplewire_nic_apps::BlockEcho;
use samplewire_nic_images::{MAC, OUR_FRAMES};
use samplewire_nic_runtime::{Clock, Mmio, entry, soc};
use samplewire_proto::Nanos;

entry!(main);

const FILE_BYTES: usize = 64 << 10;

fn main() -> ! {
    let server = samplewire_nic_images::start(1, OUR_FRAMES, MAC);
    if soc::core() != 0 {
        soc::stop();
    }
    let mut file = [0; FILE_BYTES];
    let mut echo = BlockEcho::new(Mmio, server, MAC, &mut file);
    let mut clock = Clock::new();
    let mut now = Nanos(0);
    loop {
        let (millis, is_next) = clock.read();
        if is_next {
            now = Nanos::from_millis(millis);
            soc::check_stack();
        }
        echo.poll(now);
    }
}
