//! Prints the events of sockets, no more of them than people can read.

use std::time::{Duration, Instant};

use crate::cadence::Cadence;
use crate::console::Console;
use crate::figures::grouped;
use crate::zmtp::{Notice, Socket};

/// Prints the first events of each second, and the number of the others.
#[derive(Debug)]
pub(super) struct News {
    cadence: Cadence,
    printed: u32,
    left_out: u64,
}

impl News {
    pub(super) fn new() -> Self {
        let cadence = Cadence::new(Duration::from_secs(1), Instant::now());
        Self { cadence, printed: 0, left_out: 0 }
    }

    /// Prints the events of a socket since the last call.
    pub(super) fn print(&mut self, socket: &mut Socket, now: Instant, console: &mut Console) {
        if self.cadence.is_due(now) {
            if self.left_out > 0 {
                let left_out = grouped(self.left_out);
                console.line(format_args!(".. and {left_out} more lines about sockets"));
            }
            (self.printed, self.left_out) = (0, 0);
        }
        while let Some(notice) = socket.notice() {
            if self.printed == LINES_MAX {
                self.left_out += 1;
                continue;
            }
            self.printed += 1;
            let kind = socket.kind();
            match notice {
                Notice::Refused { .. } => {
                    console.warn(format_args!(
                        "{kind} {}: {notice}{}",
                        socket.name(),
                        tip(&notice)
                    ));
                }
                _ if notice.is_warning() => {
                    console.warn(format_args!("{kind} {}: {notice}", socket.name()));
                }
                _ => console.line(format_args!("{kind} {}: {notice}", socket.name())),
            }
        }
    }
}

/// Advice for an event.
fn tip(notice: &Notice) -> &'static str {
    if notice.is_split() {
        "\n  tip: --format names the samples at the socket; GNU Radio's blocks need pass_tags off"
    } else {
        ""
    }
}

const LINES_MAX: u32 = 10;
