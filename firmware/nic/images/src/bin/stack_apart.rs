//! The host of the image `stack` with addresses of its own, apart from those of the sender of samples.

#![no_std]
#![no_main]

use samplewire_nic_images::{Place, run_host};
use samplewire_nic_runtime::entry;

entry!(main);

fn main() -> ! {
    run_host(Place::Apart)
}
