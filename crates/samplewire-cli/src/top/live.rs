//! The live view: a thread queries the processes, so that a slow process does not delay the keys.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGHUP;
use signal_hook::low_level;

use super::history::History;
use super::ports::PortHistory;
use super::survey::{Survey, Surveyor};
use super::view::Screen;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::outcome::Outcome;

/// Shows the streams until the user quits.
pub(super) fn run(surveyor: Surveyor, interval: Duration) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install_for_terminal()?;
    let is_filtered = !surveyor.wanted.is_empty();
    let (sender, surveys) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("survey".into()).spawn(move || {
        loop {
            let started = Instant::now();
            if sender.send(surveyor.look()).is_err() {
                return;
            }
            std::thread::sleep(interval.saturating_sub(started.elapsed()));
        }
    })?;
    // The hook that this installs also restores the terminal after a panic.
    let mut terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
    let result = watch(&mut terminal, &surveys, &interrupt, is_filtered);
    if is_gone(Duration::ZERO)? {
        // The terminal is gone, so there is nothing to restore or print.
        low_level::emulate_default_handler(SIGHUP)?;
    }
    ratatui::restore();
    result
}

fn watch(
    terminal: &mut DefaultTerminal,
    surveys: &Receiver<Survey>,
    interrupt: &Interrupt,
    is_filtered: bool,
) -> Result<Outcome, Failure> {
    let (mut history, mut ports) = (History::default(), PortHistory::default());
    let mut screen = Screen { is_filtered, is_asking: true, ..Screen::default() };
    let mut is_changed = true;
    loop {
        if let Some(signal) = interrupt.signal() {
            return Ok(Outcome::Interrupted { signal });
        }
        match surveys.try_recv() {
            Ok(mut survey) => {
                screen.is_asking = false;
                screen.processes = survey.processes;
                screen.errors = std::mem::take(&mut survey.errors);
                screen.ports = ports.take(std::mem::take(&mut survey.ports));
                screen.streams = history.take(survey);
                is_changed = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                unreachable!("it runs as long as there is a receiver")
            }
        }
        if std::mem::take(&mut is_changed) {
            terminal.draw(|frame| screen.draw(frame))?;
        }
        if is_gone(Duration::ZERO)? {
            return Ok(Outcome::Interrupted { signal: SIGHUP as u8 });
        }
        if !event::poll(Duration::ZERO)? {
            is_gone(PAUSE)?;
            continue;
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match action(key) {
                Action::Quit => return Ok(Outcome::Whole),
                Action::Select(steps) => screen.select(steps),
                Action::None => continue,
            },
            Event::Resize(..) => {}
            _ => continue,
        }
        is_changed = true;
    }
}

/// Waits for a key; returns whether the terminal is gone. crossterm would read from it forever, and
/// a process does not always get a signal when its terminal goes.
fn is_gone(pause: Duration) -> io::Result<bool> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let mut fds = vec![PollFd::new(&stdout, PollFlags::empty())];
    // Otherwise keys are read after the pause: standard input at its end would never let it wait.
    if stdin.is_terminal() {
        fds.push(PollFd::new(&stdin, PollFlags::IN));
    }
    let pause = Timespec::try_from(pause).expect("pauses are short");
    match poll(&mut fds, Some(&pause)) {
        Ok(_) => {}
        // A signal; the caller checks it next.
        Err(Errno::INTR) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    Ok(fds.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR)))
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Select(isize),
    None,
}

pub(super) fn action(key: KeyEvent) -> Action {
    match key.code {
        KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => Action::Quit,
        KeyCode::Char('q') | KeyCode::Esc => Action::Quit,
        KeyCode::Up | KeyCode::Char('k') => Action::Select(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Select(1),
        KeyCode::PageUp => Action::Select(-10),
        KeyCode::PageDown => Action::Select(10),
        _ => Action::None,
    }
}

/// Maximum time until a survey or a signal is noticed.
const PAUSE: Duration = Duration::from_millis(50);
