//! A web page of running streams: spectrum, waterfall, and an account of every sample.
//!
//! - A program that receives a stream creates a [`Page`] and gets a [`Tap`] for its stream. It passes
//!   each block and each gap to the tap.
//! - The page's own thread serves HTTP and WebSockets. It computes spectra only while a page is open.
//!
//! Use, frame format, API and security: `docs/web.md`.
//!
//! ```
//! use samplewire::StreamInfo;
//! use samplewire_web::{About, Page, PageOptions};
//!
//! let mut page = Page::start(PageOptions::new("127.0.0.1:0".parse()?))?;
//! let info = StreamInfo::sc16("antenna", 1e6)?;
//! let mut tap = page.add(About::new("example", &[info]), 0);
//! tap.samples(0, [&[0_u8; 4 * 1_000][..]]);
//! assert!(page.url().starts_with("http://127.0.0.1:"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod account;
pub mod action;
mod control;
mod counters;
mod failures;
pub mod frame;
mod hub;
pub mod message;
mod page;
mod recording;
mod server;
mod source;
mod spectra;
mod state;
mod tap;
mod timeline;
mod token;

pub use account::{GapEntry, GapList, Ledger};
pub use control::{Control, Folder};
pub use failures::Failures;
pub use page::{Page, PageError, PageOptions};
pub use recording::{Recording, RecordingError};
pub use server::{LocalAnswers, Process};
pub use source::{About, Counters, Role};
pub use spectra::{Levels, Spectra, SpectraError, View};
pub use tap::Tap;
pub use timeline::{Column, Timeline};
pub use token::Token;
