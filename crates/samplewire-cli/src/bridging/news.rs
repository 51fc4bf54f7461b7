//! Prints the events of sockets, no more of them than people can read.

use crate::console::Console;
use crate::figures::grouped;
use samplewire_zmtp::{Notice, Socket};

/// Prints the first events of each second, and the number of the others.
#[derive(Debug, Default)]
pub(super) struct News {
    printed: u32,
    left_out: u64,
}

impl News {
    /// Prints an event of a socket, or only counts it after [`LINES_MAX`] lines in this second.
    pub(super) fn print(&mut self, socket: &Socket, notice: &Notice, console: &mut Console) {
        if self.printed == LINES_MAX {
            self.left_out += 1;
            return;
        }
        self.printed += 1;
        let (kind, name) = (socket.kind(), socket.name());
        match notice {
            Notice::Refused { .. } => {
                console.warn(format_args!("{kind} {name}: {notice}{}", tip(notice)));
            }
            _ if notice.is_warning() => console.warn(format_args!("{kind} {name}: {notice}")),
            _ => console.line(format_args!("{kind} {name}: {notice}")),
        }
    }

    /// Begins another second: prints how many events were left out in the last one.
    pub(super) fn next_second(&mut self, console: &mut Console) {
        if self.left_out > 0 {
            let left_out = grouped(self.left_out);
            console.line(format_args!(".. and {left_out} more lines about sockets"));
        }
        *self = Self::default();
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
