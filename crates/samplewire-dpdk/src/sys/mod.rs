//! DPDK by its C functions. All `unsafe` of this crate is here.

mod device;
mod eal;

use std::io;

pub(crate) use self::device::Device;

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DpdkError {
    /// The options contradict themselves.
    #[error(transparent)]
    Option(#[from] crate::OptionError),
    /// EAL did not start. It has printed more; it cannot be started again in this process.
    #[error("DPDK does not start: {0}")]
    Eal(#[source] io::Error),
    /// EAL runs with other arguments: it starts once in a process.
    #[error("DPDK runs in this process already, with the arguments {0:?}")]
    Running(Vec<String>),
    /// The thread's CPUs could not be read or set back after EAL had changed them.
    #[error("the thread's CPUs: {0}")]
    Affinity(#[source] io::Error),
    /// There is no such device, its driver refuses it, or another link has it (`EBUSY`).
    #[error("the device {device}: {source}")]
    Attach {
        /// As in the options.
        device: String,
        /// DPDK's answer; it has printed more.
        #[source]
        source: io::Error,
    },
    /// The device does not take the MTU or the queues, or memory is short.
    #[error("the device {device} does not start: {source}")]
    Start {
        /// As in the options.
        device: String,
        /// DPDK's answer; it has printed more.
        #[source]
        source: io::Error,
    },
    /// The process has no descriptor left.
    #[error("eventfd: {0}")]
    Waker(#[source] io::Error),
}

/// The result of a function of the shim: 0, or a negative errno.
fn check(answer: i32) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-answer)) }
}
