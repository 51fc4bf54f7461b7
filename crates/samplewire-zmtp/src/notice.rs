//! Events of a socket for people, no more of them than they can read.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

use crate::wire::Violation;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A peer has completed the handshake.
    Joined(SocketAddr),
    /// A peer disconnected.
    Left {
        /// Its address.
        peer: SocketAddr,
        /// Bytes of a message that were not received, or not sent.
        lost_bytes: usize,
    },
    /// A peer was rejected.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// Why.
        violation: Violation,
    },
}

impl Notice {
    /// Whether a message had a fraction of a sample.
    pub const fn is_split(&self) -> bool {
        matches!(self, Self::Refused { violation: Violation::Split { .. }, .. })
    }

    /// Whether it is a warning.
    pub const fn is_warning(&self) -> bool {
        match self {
            Self::Joined(_) => false,
            Self::Left { lost_bytes, .. } => *lost_bytes > 0,
            Self::Refused { .. } => true,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined(peer) => write!(f, "{peer} is connected"),
            Self::Left { peer, lost_bytes: 0 } => write!(f, "{peer} is gone"),
            Self::Left { peer, lost_bytes } => {
                write!(f, "{peer} is gone, and {lost_bytes} bytes of samples with it")
            }
            Self::Refused { peer, violation } => write!(f, "{peer} {violation}"),
        }
    }
}

/// The latest events.
#[derive(Debug, Default)]
pub(super) struct Notices(VecDeque<Notice>);

impl Notices {
    /// Stores an event; the oldest makes room.
    pub(super) fn push(&mut self, notice: Notice) {
        if self.0.len() == NOTICES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(notice);
    }

    pub(super) fn pop(&mut self) -> Option<Notice> {
        self.0.pop_front()
    }
}

const NOTICES_MAX: usize = 16;
