//! Where the highest bin of a received spectrum is, as docs/runtime.md shows it;
//! tools/check_examples.py compares them.
//!
//! ```text
//! samplewire emulate --source tone:400k --rate 10M     # the device
//! cargo run --release -p samplewire --example peak
//! ```

use samplewire_blocks::kernels::{Window, low_pass};
use samplewire_blocks::{ChainExt, Complex, Complex32};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rx = samplewire::receive().open("127.0.0.1")?;
    rx.into_chain::<Complex<i16>>()?
        .convert::<Complex32>()
        .decimate(&low_pass(64, 0.4 / 8.0), 8)
        .spectrum(4_096, Window::Hann, 10)
        .for_each(|quantum| {
            for powers in quantum.samples().chunks(4_096) {
                let peak = (0..4_096).max_by(|&a, &b| powers[a].total_cmp(&powers[b])).unwrap();
                println!("peak in bin {peak}");
            }
        })
        .run()?;
    Ok(())
}
