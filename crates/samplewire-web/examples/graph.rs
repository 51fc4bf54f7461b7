//! A page of what a graph computes: a filtered tone at an eighth of its sample rate.
//!
//! ```text
//! cargo run -p samplewire-web --example graph -- [SECONDS]
//! ```
//!
//! It prints the URL, and ends after so many seconds, or never.

use samplewire::StreamInfo;
use samplewire::format::Format;
use samplewire_blocks::kernels::low_pass;
use samplewire_blocks::{ChainExt, Complex32, Tone, chain};
use samplewire_web::{About, Page, PageOptions};

const RATE_HZ: f64 = 2e6;
const DECIMATION: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(f64::INFINITY), |it| it.parse())?;
    let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse()?))?;
    let info = StreamInfo::new(Format::Fc32, 1, RATE_HZ / DECIMATION as f64)?;
    let mut tap = page.add(About::new("graph", &[info]), 0);
    println!("{}", page.url());
    let report = chain::<Complex32, _>(Tone::new(0.02, 0.5)?)
        .head((seconds * RATE_HZ) as u64)
        .throttle(RATE_HZ)
        .decimate(&low_pass(64, 0.4 / DECIMATION as f64), DECIMATION)
        .for_each(move |quantum| {
            tap.samples(quantum.index(), [bytemuck::cast_slice(quantum.samples())]);
        })
        .run()?;
    let ledger = page.ledger(0).expect("it was added");
    let account = ledger.account();
    let computed = report.block("sink").expect("the chain ends in it").counters.samples;
    assert_eq!((account.range(), account.missing()), (0..computed, 0));
    println!("{computed} samples");
    Ok(())
}
