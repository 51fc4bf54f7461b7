//! The blocks that need no arithmetic: ends of streams.

mod head;
mod null;

pub use head::Head;
pub use null::{NullSink, NullSource};
