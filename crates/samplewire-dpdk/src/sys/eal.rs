//! DPDK's environment layer (EAL): it starts once in a process, and never ends.

use std::ffi::{CString, c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

use samplewire_io::thread;

use super::{DpdkError, check};
use crate::options::DpdkOptions;

/// The right to open and close devices: EAL supports one thread at a time that does.
#[derive(Debug)]
pub(super) struct Eal(#[expect(dead_code, reason = "the lock is held")] MutexGuard<'static, State>);

#[derive(Debug)]
enum State {
    Idle,
    Running { arguments: Vec<String> },
    Failed,
}

static STATE: Mutex<State> = Mutex::new(State::Idle);

impl Eal {
    /// Starts EAL, or finds it running with these arguments. The calling thread keeps its CPUs, which EAL
    /// changes.
    pub(super) fn start(arguments: &[String]) -> Result<Self, DpdkError> {
        let mut state = lock();
        match &*state {
            State::Running { arguments: running } => {
                if !arguments.is_empty() && arguments != running {
                    return Err(DpdkError::Running(running.clone()));
                }
            }
            State::Failed => {
                let source = std::io::Error::other("it failed before in this process");
                return Err(DpdkError::Eal(source));
            }
            State::Idle => {
                let cpus = thread::affinity().map_err(DpdkError::Affinity)?;
                *state = State::Failed;
                let started = init(arguments, cpus[0]);
                thread::set_affinity(&cpus).map_err(DpdkError::Affinity)?;
                started?;
                *state = State::Running { arguments: arguments.to_vec() };
            }
        }
        Ok(Self(state))
    }

    /// EAL runs: a device is open.
    pub(super) fn running() -> Self {
        Self(lock())
    }
}

fn lock() -> MutexGuard<'static, State> {
    // A panic of another holder cannot leave the state half changed.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `rte_eal_init` with the arguments, and one CPU unless they name some.
fn init(arguments: &[String], cpu: usize) -> Result<(), DpdkError> {
    let mut words = vec!["samplewire".to_owned()];
    if !DpdkOptions::names_cpus(arguments) {
        // `-l` would take the CPU's number as that of the thread too, and refuse one above 127.
        words.extend(["--lcores".to_owned(), format!("0@{cpu}")]);
    }
    words.extend_from_slice(arguments);
    // EAL keeps pointers to them and may change their order, so they are never freed.
    let mut words: Vec<*mut c_char> = words
        .into_iter()
        .map(|word| CString::new(word).expect("the options were checked").into_raw())
        .collect();
    let count = words.len() as c_int;
    words.push(std::ptr::null_mut());
    let words = Vec::leak(words).as_mut_ptr();
    // SAFETY: `words` has `count` strings of this process and a null after them, which are never freed.
    // The lock of the state is held, so no other call of this crate runs.
    check(unsafe { samplewire_dpdk_eal(count, words) }).map_err(DpdkError::Eal)
}

// SAFETY: as in shim/shim.c, which is compiled with the same types.
unsafe extern "C" {
    fn samplewire_dpdk_eal(count: c_int, words: *mut *mut c_char) -> c_int;
}
