//! Sends frames by one of the schemes 1 to 3 when a host orders it, and reports how many came back.
//!
//! Processor 0 gets all frames; the others stop.

#![no_std]
#![no_main]

use samplewire_nic_apps::SendByOrder;
use samplewire_nic_images::{OUR_FRAMES, own_mac, start_alone};
use samplewire_nic_runtime::{entry, soc};
use samplewire_proto::{Nanos, Rng};

entry!(main);

fn main() -> ! {
    let mac = own_mac();
    let server = start_alone(OUR_FRAMES, mac);
    if soc::core() != 0 {
        soc::stop();
    }
    // The times of orders are all that this board has of randomness.
    let mut send = SendByOrder::new(server, mac, Rng::new(soc::cycles().into()));
    loop {
        if !send.poll(Nanos(soc::time_ns())) {
            soc::check_stack();
            soc::sleep();
        }
    }
}
