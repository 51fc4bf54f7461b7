//! Runs the binary: devices in the background, everything else to its end or a time limit.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use samplewire_testing::{PATIENCE, skip, wait_for, wait_until};

use crate::metered::numbers_of;

/// What a command printed, and its exit status.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    /// The exit status as a number.
    ///
    /// # Panics
    /// When a signal killed it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self:?} was killed"))
    }

    /// Standard output as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("words are UTF-8")
    }

    /// Checks the status, and shows everything when it is another.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code(), code, "{}\n{}", String::from_utf8_lossy(&self.stdout), self.stderr);
        self
    }

    /// Checks that the error text has every one of `words`.
    #[track_caller]
    pub(crate) fn expect_error(self, code: i32, words: &[&str]) {
        let ran = self.expect(code);
        for word in words {
            assert!(ran.stderr.contains(word), "no `{word}` in:\n{}", ran.stderr);
        }
    }
}

/// Runs `samplewire` with these arguments to its end.
pub(crate) fn run<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Ran {
    Running::start(arguments).finish()
}

/// A command under way, whose output is gathered.
pub(crate) struct Running {
    child: Child,
    stdout: Output,
    stderr: Output,
}

impl Running {
    pub(crate) fn start<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Self {
        Self::of(spawn(arguments))
    }

    /// Starts it by another command, whose arguments end before the program's name.
    pub(crate) fn start_by(command: &[&str], arguments: &[&str]) -> Self {
        let mut starter = Command::new(command[0]);
        starter.args(&command[1..]).arg(env!("CARGO_BIN_EXE_samplewire")).args(arguments);
        Self::of(piped(&mut starter))
    }

    fn of(mut child: Child) -> Self {
        let stdout = Output::of(child.stdout.take().expect("it is piped"));
        let stderr = Output::of(child.stderr.take().expect("it is piped"));
        Self { child, stdout, stderr }
    }

    /// Waits until it has printed `words`, e.g. that a stream is open.
    ///
    /// # Panics
    /// When they do not come within [`PATIENCE`].
    #[track_caller]
    pub(crate) fn until(&self, words: &str) {
        wait_until(words, PATIENCE, || self.stdout.has(words) || self.stderr.has(words));
    }

    /// The rest of the first line on standard error, or else on standard output, that begins like this.
    pub(crate) fn line(&self, begin: &str) -> Option<String> {
        self.stderr.line(begin).or_else(|| self.stdout.line(begin))
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this metric fits, of a command with [`METRICS`].
    #[track_caller]
    pub(crate) fn until_metric(&self, name: &str, is_so: impl Fn(f64) -> bool) {
        let url = || self.stderr.line("metrics: http://");
        until_metric(&wait_for("metrics", PATIENCE, url), name, is_so);
    }

    /// Waits until it has written so many bytes to standard output.
    #[track_caller]
    pub(crate) fn until_written(&self, len_bytes: usize) {
        wait_until("bytes on standard output", PATIENCE, || self.stdout.len() >= len_bytes);
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, number: i32) {
        signal(&self.child, number);
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// When it takes longer than [`TIME_MAX`].
    pub(crate) fn finish(mut self) -> Ran {
        let status = wait(&mut self.child);
        Ran {
            status,
            stdout: self.stdout.finish(),
            stderr: String::from_utf8(self.stderr.finish()).expect("words are UTF-8"),
        }
    }
}

/// What a command prints, while it runs.
pub(crate) struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Output {
    pub(crate) fn of(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let shared = Arc::clone(&bytes);
        let reader = std::thread::spawn(move || {
            let mut part = vec![0; 64 << 10];
            loop {
                let len = pipe.read(&mut part).expect("the pipe can be read");
                if len == 0 {
                    return;
                }
                shared.lock().expect("no panic").extend_from_slice(&part[..len]);
            }
        });
        Self { bytes, reader }
    }

    pub(crate) fn has(&self, words: &str) -> bool {
        let bytes = self.bytes.lock().expect("no panic");
        bytes.windows(words.len()).any(|window| window == words.as_bytes())
    }

    /// The rest of the first whole line that begins like this.
    fn line(&self, begin: &str) -> Option<String> {
        let bytes = self.bytes.lock().expect("no panic");
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        lines.find_map(|line| line.strip_prefix(begin)).map(str::to_owned)
    }

    fn len(&self) -> usize {
        self.bytes.lock().expect("no panic").len()
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.reader.join().expect("reading does not panic");
        std::mem::take(&mut self.bytes.lock().expect("no panic"))
    }
}

/// A background command; killed on drop.
pub(crate) struct Background {
    child: Child,
    /// Its output until it began.
    pub(crate) head: String,
    /// Its later output, and its standard error.
    outputs: Option<[Output; 2]>,
}

impl Background {
    /// Starts one with these bytes on standard input, and waits until a line says `begun`.
    pub(crate) fn start(arguments: &[&str], input: Vec<u8>, begun: &str) -> Self {
        let mut child = spawn(arguments);
        let mut stdin = child.stdin.take().expect("it is piped");
        // A command that reads only part of it closes the pipe.
        std::thread::spawn(move || stdin.write_all(&input));
        let stderr = Output::of(child.stderr.take().expect("it is piped"));
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut head = String::new();
        while !head.contains(begun) {
            if stdout.read_line(&mut head).expect("standard output can be read") == 0 {
                panic!("{arguments:?}: {head}{}", String::from_utf8_lossy(&stderr.finish()));
            }
        }
        Self { child, head, outputs: Some([Output::of(stdout), stderr]) }
    }

    /// Waits until it has printed `words` since it began.
    ///
    /// # Panics
    /// When they do not come within [`PATIENCE`].
    #[track_caller]
    pub(crate) fn until(&self, words: &str) {
        let outputs = self.outputs.as_ref().expect("they are taken at the end");
        wait_until(words, PATIENCE, || outputs.iter().any(|output| output.has(words)));
    }

    /// Its number as a process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, number: i32) {
        signal(&self.child, number);
    }

    /// Kills it without notifying its peer.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        wait(&mut self.child);
    }

    /// Interrupts it and returns its output since it began.
    pub(crate) fn interrupt(self) -> Ran {
        signal(&self.child, libc::SIGINT);
        self.finish()
    }

    /// Waits until the command ends without a signal, and returns what it printed since its start.
    pub(crate) fn finish(mut self) -> Ran {
        let status = wait(&mut self.child);
        let outputs = self.outputs.take().expect("they are taken once");
        let [stdout, stderr] = outputs.map(Output::finish);
        Ran { status, stdout, stderr: String::from_utf8(stderr).expect("words are UTF-8") }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let is_over = matches!(self.child.try_wait(), Ok(Some(_)));
        if !is_over && self.child.kill().is_ok() {
            wait(&mut self.child);
        }
    }
}

/// A device in the background; killed when it is dropped.
pub(crate) struct Device {
    process: Background,
    /// Where it listens.
    pub(crate) address: String,
}

impl Device {
    /// Starts `emulate`, on a free port unless the arguments say where.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::fed(arguments, Vec::new())
    }

    /// Starts `emulate` with these bytes on standard input.
    pub(crate) fn fed(arguments: &[&str], input: Vec<u8>) -> Self {
        let mut all = vec!["emulate"];
        if !arguments.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        all.extend(arguments);
        let begun = "listening on ";
        let process = Background::start(&all, input, begun);
        let (_, address) = process.head.trim_end().split_once(begun).expect("it waited for it");
        let address = address.to_owned();
        Self { process, address }
    }

    /// See [`Background::interrupt`].
    pub(crate) fn interrupt(self) -> Ran {
        self.process.interrupt()
    }

    /// See [`Background::finish`].
    pub(crate) fn finish(self) -> Ran {
        self.process.finish()
    }
}

impl Deref for Device {
    type Target = Background;
    fn deref(&self) -> &Background {
        &self.process
    }
}

impl DerefMut for Device {
    fn deref_mut(&mut self) -> &mut Background {
        &mut self.process
    }
}

/// An empty folder for one test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{test}"));
    if path.exists() {
        fs::remove_dir_all(&path).expect("the folder is ours");
    }
    fs::create_dir_all(&path).expect("the folder can be made");
    path
}

/// Waits until a metric of the page at `ADDRESS/metrics` fits, and returns it.
#[track_caller]
pub(crate) fn until_metric(url: &str, name: &str, is_so: impl Fn(f64) -> bool) -> f64 {
    let address = url.strip_suffix("/metrics").expect("the path of the page");
    wait_for(name, PATIENCE, || numbers_of(address).get(name).copied().filter(|&it| is_so(it)))
}

/// Options of a command whose metrics a test reads.
pub(crate) const METRICS: [&str; 2] = ["--metrics", "127.0.0.1:0"];

/// Waits until this much of a file is written; most writers write pieces of a MiB.
#[track_caller]
pub(crate) fn until_long(file: &Path, len_bytes: u64) {
    let what = format!("{len_bytes} bytes in {}", file.display());
    wait_until(&what, PATIENCE, || fs::metadata(file).is_ok_and(|it| it.len() >= len_bytes));
}

/// The path as an argument.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are UTF-8")
}

/// The real recording; `None`, with a message, if it is absent.
pub(crate) fn real_recording() -> Option<PathBuf> {
    let folder = std::env::var_os("SAMPLEWIRE_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("modes1.sigmf-meta");
    if !path.exists() {
        skip(format_args!("{} is not there (SAMPLEWIRE_TEST_DATA names its folder)", text(&path)));
        return None;
    }
    Some(path)
}

/// Whether a program can be run; prints that a test is skipped if not.
pub(crate) fn has_program(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        skip(format_args!("{name} is not installed"));
    }
    found
}

pub(crate) fn signal(child: &Child, number: i32) {
    let pid = i32::try_from(child.id()).expect("process numbers are small");
    // SAFETY: kill takes no pointers, and the child has not been waited for.
    let answer = unsafe { libc::kill(pid, number) };
    assert_eq!(answer, 0, "signal {number} to {pid}");
}

/// Waits for the end of a child.
///
/// # Panics
/// When it takes longer than [`TIME_MAX`].
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status;
        }
        if started.elapsed() > TIME_MAX {
            child.kill().expect("it is our child");
            panic!("it still runs after {TIME_MAX:?}");
        }
        // No call of the standard library waits for a process and a time.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts `samplewire` with everything piped.
pub(crate) fn spawn<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Child {
    piped(Command::new(env!("CARGO_BIN_EXE_samplewire")).args(arguments))
}

fn piped(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test")
}

const TIME_MAX: Duration = Duration::from_secs(400);

/// Both ends of a pseudo-terminal of this size: the test's, and the command's.
pub(crate) fn terminal(rows: u16, columns: u16) -> (fs::File, fs::File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)
        .expect("the system has pseudo-terminals");
    grantpt(&master).expect("the test owns it");
    unlockpt(&master).expect("the test owns it");
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("it takes a size");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let name = name.to_str().expect("ASCII");
    let mut options = fs::File::options();
    let slave = options.read(true).write(true).custom_flags(libc::O_NOCTTY).open(name);
    (master.into(), slave.expect("it opens"))
}
