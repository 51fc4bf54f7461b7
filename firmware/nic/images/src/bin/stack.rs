//! A TCP/IP host that shares the addresses of the sender of samples: ARP, ping, UDP echo, DHCP and a TCP
//! console. Where no other processor has enabled the sender, it brings it up, so that a board needs none.
//!
//! Processor 0 is the host. Other processors get the data frames and send them back, as `echo` does: those of
//! EtherType 0x88B5. A processor alone gets all frames, and the host drops these.

#![no_std]
#![no_main]

use samplewire_nic_images::{Place, run_host};
use samplewire_nic_runtime::entry;

entry!(main);

fn main() -> ! {
    run_host(Place::OfSender)
}
