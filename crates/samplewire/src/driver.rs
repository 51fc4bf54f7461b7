//! What runs an endpoint: an I/O thread, or the calls of the program. Only drivers read a clock.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samplewire_circuit::Pages;
use samplewire_circuit::wait::Bell;
use samplewire_io::{Batch, Capabilities, Clock, LinkError, thread};
use samplewire_proto::Nanos;

use crate::deadline::Deadline;
use crate::endpoint::{Endpoint, Rest, View};
use crate::port::{BATCH_PACKETS, PACKET_BYTES_MAX};
use crate::real_time::{Granted, RealTime, Waits};
use crate::sync::Mutex;
use crate::sync::lock;
use crate::wakeups::Wakeups;

/// An endpoint with the memory for what arrives, for a driver that states the time of each turn.
pub struct Stepped {
    endpoint: Endpoint,
    batch: Batch,
}

impl Stepped {
    /// Takes so many packets in a turn at most.
    fn new(endpoint: Endpoint, batch_packets: usize) -> Self {
        Self { endpoint, batch: Batch::new(batch_packets, PACKET_BYTES_MAX) }
    }

    /// Takes what has come and does what is due at `now`; `None` when nothing is left to do.
    pub fn turn(&mut self, now: Nanos) -> Option<Rest> {
        let rest = self.endpoint.turn(now, &mut self.batch);
        (!self.endpoint.is_over()).then_some(rest)
    }

    /// Whether a program has called since the last turn: a driver turns the endpoint then. Certain for
    /// calls of this thread alone.
    pub fn is_called(&self) -> bool {
        self.endpoint.is_called()
    }

    /// All streams, as the checker of a simulator sees them.
    pub fn views(&self) -> impl Iterator<Item = View<'_>> {
        self.endpoint.views()
    }

    /// Those at one place.
    pub fn views_at(&self, place: usize) -> impl Iterator<Item = View<'_>> {
        self.endpoint.views_at(place)
    }
}

impl fmt::Debug for Stepped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepped").finish_non_exhaustive()
    }
}

/// An endpoint that runs by a clock.
pub(crate) struct Running {
    stepped: Stepped,
    clock: Clock,
    wakeups: Arc<Wakeups>,
    timers: Timers,
}

impl Running {
    fn start(
        mut self,
        name: &str,
        options: &RealTime,
        pages: Option<Pages>,
    ) -> io::Result<(Granted, Drive)> {
        if options.how_it_waits() == Waits::Inline {
            let granted = Granted::ask(options, pages);
            return Ok((granted, Drive::Inline(Mutex::new(Some(Box::new(self))))));
        }
        let (grant, granted) = std::sync::mpsc::sync_channel(1);
        let options = options.clone();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // The program that opens the port waits for it.
            let _is_sent = grant.send(Granted::ask(&options, pages)).is_ok();
            self.timers = Timers::of_thread(&options);
            while self.step() {}
        })?;
        let granted = granted.recv();
        let granted = granted.map_err(|_| io::Error::other("the I/O thread ended at once"))?;
        Ok((granted, Drive::Thread(Some(thread))))
    }

    /// Not inlined in [`Running::step`], which seldom rests where a thread spins.
    #[inline(never)]
    fn rest(&mut self, rest: Rest) -> Result<(), LinkError> {
        match rest {
            Rest::No => Ok(()),
            Rest::Until(at) => {
                let span = self.timers.prepare(self.clock.span_until(at));
                self.wakeups.sleep(self.stepped.endpoint.link(), span)
            }
            Rest::Room(at) => {
                let span = self.clock.span_until(at);
                self.stepped.endpoint.link().wait(span)
            }
            Rest::Pause(at) => {
                std::thread::sleep(self.clock.span_until(at));
                Ok(())
            }
        }
    }

    /// Receives, delivers, sends, and waits where it may; `false` when there is nothing left to do.
    fn step(&mut self) -> bool {
        let Some(rest) = self.stepped.turn(self.clock.now()) else { return false };
        if rest != Rest::No
            && let Err(error) = self.rest(rest)
        {
            self.stepped.endpoint.fail(&error);
        }
        true
    }
}

/// How late the timers of an I/O thread may end.
///
/// The kernel lets a thread sleep up to 50 us longer, so that the machine wakes less often. A pace that
/// keeps 50 us cannot make up for that and the wake's own time. So sleeps shorter than [`SHORT_SLEEP`]
/// end on time. They last [`SLEEP_MIN`] at least, so that a wake serves several small packets.
#[derive(Clone, Copy, Debug)]
enum Timers {
    /// The user chose it, or the thread is the program's.
    Chosen,
    OnTime {
        usual: Duration,
    },
    Usual(Duration),
}

impl Timers {
    fn of_thread(options: &RealTime) -> Self {
        match thread::timer_slack() {
            Ok(usual) if !options.has_timer_slack() => Self::Usual(usual),
            _ => Self::Chosen,
        }
    }

    /// Before a sleep of that span; returns how long it should last.
    fn prepare(&mut self, span: Duration) -> Duration {
        if matches!(self, Self::Chosen) || span.is_zero() {
            return span;
        }
        let is_short = span < SHORT_SLEEP;
        match *self {
            Self::Usual(usual) if is_short => {
                self.change(usual.min(ON_TIME), Self::OnTime { usual })
            }
            Self::OnTime { usual } if !is_short => self.change(usual, Self::Usual(usual)),
            _ => {}
        }
        span.max(SLEEP_MIN)
    }

    /// Where the system refuses, sleeps end as late as before.
    fn change(&mut self, slack: Duration, timers: Self) {
        if thread::set_timer_slack(slack).is_ok() {
            *self = timers;
        }
    }
}

/// How an endpoint is driven.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run<'a> {
    /// A thread of that name, or where the options say so the program's calls.
    Thread(&'a str),
    /// Its owner, with times since this instant; one packet a turn.
    Stepped(Instant),
}

impl Run<'_> {
    pub(crate) fn clock(self, options: &RealTime) -> Clock {
        match self {
            Self::Thread(_) => Clock::start(options.slow_factor()),
            Self::Stepped(epoch) => Clock::starting_at(epoch, 1),
        }
    }
}

/// An endpoint that runs, or is stepped.
pub(crate) struct Launched {
    pub(crate) port: Port,
    /// The memory for what arrives in a turn, in bytes.
    pub(crate) batch_bytes: usize,
    /// What its owner steps.
    pub(crate) stepped: Option<Stepped>,
}

/// What every handle of a port has.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) capabilities: Capabilities,
    pub(crate) local: SocketAddr,
    pub(crate) granted: Granted,
    /// Ends when the last handle goes.
    pub(crate) drive: Arc<Drive>,
}

/// What steps an endpoint; dropping it waits for the endpoint's end.
pub(crate) enum Drive {
    Thread(Option<JoinHandle<()>>),
    /// The program's calls, while they wait. There is no I/O thread: only the program's threads lock it.
    Inline(Mutex<Option<Box<Running>>>),
    /// The owner of the [`Stepped`] endpoint. Handles never wait for it.
    Stepped,
}

impl Port {
    /// Lets an endpoint run, and returns it where its owner steps it. `pages` are those of its memory,
    /// `None` where the memory comes with each stream.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub(crate) fn launch(
        run: Run<'_>,
        mut endpoint: Endpoint,
        clock: Clock,
        options: &RealTime,
        pages: Option<Pages>,
    ) -> io::Result<Launched> {
        let (capabilities, local) = (endpoint.link().capabilities(), endpoint.link().local_addr());
        let wakeups = endpoint.wakeups();
        let batch_packets = if let Run::Thread(_) = run { BATCH_PACKETS } else { 1 };
        let stepped = Stepped::new(endpoint, batch_packets);
        let batch_bytes = stepped.batch.memory_bytes();
        let (granted, drive, stepped) = match run {
            Run::Stepped(_) => (Granted::default(), Drive::Stepped, Some(stepped)),
            Run::Thread(name) => {
                let running = Running { stepped, clock, wakeups, timers: Timers::Chosen };
                let (granted, drive) = running.start(name, options, pages)?;
                (granted, drive, None)
            }
        };
        let port = Self { capabilities, local, granted, drive: Arc::new(drive) };
        Ok(Launched { port, batch_bytes, stepped })
    }

    /// Waits until `look` finds something, at most for `timeout`; does what is due where no I/O thread
    /// does. `bell` rings when there may be something.
    pub(crate) fn wait_until<T>(
        &self,
        bell: &Bell,
        timeout: Duration,
        mut look: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = look() {
            return Some(found);
        }
        let deadline = Deadline::after(timeout);
        loop {
            let left = deadline.left();
            if self.granted.waits.is_program_spinning() {
                self.drive.turn();
                let found = look();
                if found.is_some() || left.is_zero() {
                    return found;
                }
                std::hint::spin_loop();
                continue;
            }
            if left.is_zero() {
                return None;
            }
            bell.announce();
            if let Some(found) = look() {
                return Some(found);
            }
            bell.wait(left.min(WAIT_MAX));
            if let Some(found) = look() {
                return Some(found);
            }
        }
    }
}

impl Drive {
    /// Whether it is the program's calls that run the port.
    pub(crate) const fn is_inline(&self) -> bool {
        matches!(self, Self::Inline(_))
    }

    /// Whether nothing that a handle does can make the endpoint go on.
    pub(crate) const fn is_stepped(&self) -> bool {
        matches!(self, Self::Stepped)
    }

    /// Does what is due, where no thread does; `false` where there is nothing left to do.
    pub(crate) fn turn(&self) -> bool {
        let Self::Inline(running) = self else { return false };
        let mut running = lock(running);
        let goes_on = running.as_mut().is_some_and(|running| running.step());
        if !goes_on {
            *running = None;
        }
        goes_on
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        match self {
            Self::Thread(thread) => {
                if let Some(thread) = thread.take() {
                    thread.join().expect("the I/O thread does not panic");
                }
            }
            Self::Inline(_) => while self.turn() {},
            Self::Stepped => {}
        }
    }
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thread(_) => "Thread",
            Self::Inline(_) => "Inline",
            Self::Stepped => "Stepped",
        })
    }
}

/// Below this, a sleep must end on time: the kernel's usual slack, and what a wake costs.
const SHORT_SLEEP: Duration = Duration::from_micros(60);
/// What is due earlier is later by at most this, less than by the usual slack.
const SLEEP_MIN: Duration = Duration::from_micros(20);
/// The slack of a sleep that ends on time.
pub(crate) const ON_TIME: Duration = Duration::from_micros(1);
/// The longest sleep of a waiting program.
const WAIT_MAX: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sleeps_end_on_time_and_last_as_long_as_a_wake_is_worth() {
        let usual = Duration::from_micros(50);
        thread::set_timer_slack(usual).unwrap();
        let mut timers = Timers::of_thread(&RealTime::default());
        for (span_us, lasts_us, slack) in [
            (0, 0, usual),
            (1_000, 1_000, usual),
            (59, 59, ON_TIME),
            (5, 20, ON_TIME),
            (0, 0, ON_TIME),
            (60, 60, usual),
            (61, 61, usual),
        ] {
            let span = timers.prepare(Duration::from_micros(span_us));
            assert_eq!(span, Duration::from_micros(lasts_us));
            assert_eq!(thread::timer_slack().unwrap(), slack, "a sleep of {span_us} us");
        }
    }

    #[test]
    fn timers_that_the_user_chose_stay_as_they_are() {
        let usual = thread::timer_slack().unwrap();
        let span = Duration::from_micros(5);
        assert_eq!(Timers::Chosen.prepare(span), span);
        assert_eq!(thread::timer_slack().unwrap(), usual);
    }
}
