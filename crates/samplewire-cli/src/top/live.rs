//! The live view: a thread asks the processes, so that one which is slow holds up no key.

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
    // A panic gives the terminal back too: the hook that this installs sees to it.
    let mut terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
    let result = watch(&mut terminal, &surveys, &interrupt, is_filtered);
    if is_gone(Duration::ZERO)? {
        // Nothing can be given back, and no word reaches anybody.
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
    let mut history = History::default();
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
                screen.streams = history.take(survey);
                is_changed = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => unreachable!("it asks as long as it is heard"),
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

/// Waits for a key; whether the terminal is gone. crossterm would read from it forever, and not
/// every process that has a terminal gets a signal when it goes.
fn is_gone(pause: Duration) -> io::Result<bool> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let mut fds = vec![PollFd::new(&stdout, PollFlags::empty())];
    // Else keys are seen after the pause: one that is at its end would never let it wait.
    if stdin.is_terminal() {
        fds.push(PollFd::new(&stdin, PollFlags::IN));
    }
    let pause = Timespec::try_from(pause).expect("pauses are short");
    match poll(&mut fds, Some(&pause)) {
        Ok(_) => {}
        // A signal; it is looked at next.
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

/// The longest that a survey or a signal waits to be seen.
const PAUSE: Duration = Duration::from_millis(50);
