//! The demonstration: its account holds, and its output suits a file and a terminal.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::harness::{run, terminal, wait};

#[test]
fn account_of_the_demonstration_holds() {
    for delivery in ["complete", "deadline:2ms", "best-effort"] {
        let arguments = ["demo", "--seconds", "1.2", "--rate", "2M", "--delivery", delivery];
        let ran = run(&arguments).expect(0);
        let text = ran.text();
        assert!(text.contains("it holds: every index is delivered once"), "{text}");
        assert!(!text.contains('\x1b'), "escapes in what is no terminal: {text:?}");
        assert!(text.contains('▇') || text.contains('█'), "no spectrum in {text}");
        let is_complete = delivery == "complete";
        let row = |name: &str| -> u64 {
            let line = text.lines().rfind(|line| line.trim_start().starts_with(name)).unwrap();
            line.rsplit(' ').next().unwrap().replace(',', "").parse().unwrap()
        };
        assert_eq!(row("together"), row("played by the device"));
        assert_eq!(row("DATA repaired") == 0, delivery == "best-effort", "{text}");
        assert!(!is_complete || row("missing: deadline") == 0, "{text}");
        assert!(delivery != "best-effort" || row("missing: never asked") > 0, "{text}");
        let arrived: u64 = ARRIVED.map(row).iter().sum();
        assert_eq!(arrived, row("arrived"), "{text}");
    }
}

/// What the receiver makes of the packets that arrive.
const ARRIVED: [&str; 7] = [
    "DATA in order",
    "DATA that came reordered",
    "DATA repaired",
    "DATA twice",
    "DATA too late",
    "corrupted",
    "MARK, session",
];

/// What the demonstration draws on a terminal of this size with these variables.
fn drawn(columns: u16, variables: &[(&str, &str)]) -> String {
    let (mut master, slave) = terminal(30, columns);
    let handle = || Stdio::from(slave.try_clone().expect("a handle"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_samplewire"));
    command.args(["demo", "--seconds", "0.7", "--rate", "1M"]);
    for name in ["COLORTERM", "NO_COLOR"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command.stdin(handle()).stdout(handle()).stderr(handle());
    let mut child = command.spawn().expect("the binary was built for this test");
    drop((command, slave));
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        // It ends with an error (EIO) once the command has closed its end.
        let _is_read = master.read_to_end(&mut all).is_ok();
        String::from_utf8(all).expect("text")
    });
    assert!(wait(&mut child).success());
    reader.join().expect("it reads")
}

#[test]
fn waterfall_has_the_colours_of_the_terminal() {
    let cases = [
        (120, "xterm-256color", "truecolor", Some("\x1b[38;2;")),
        (80, "xterm-256color", "", Some("\x1b[38;5;")),
        (60, "xterm-256color", "", None),
        (120, "xterm", "", None),
    ];
    for (columns, term, colors, sequence) in cases {
        let text = drawn(columns, &[("TERM", term), ("COLORTERM", colors)]);
        assert_eq!(text.contains('▀'), sequence.is_some(), "{columns} {term} {colors}: {text:?}");
        assert!(sequence.is_none_or(|it| text.contains(it)), "{columns} {term}: {text:?}");
        assert_eq!(text.contains("carried"), columns == 120 && sequence.is_some(), "{text:?}");
        assert!(text.contains("it holds"), "{text:?}");
    }
    let plain = drawn(120, &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]);
    assert!(!plain.contains("\x1b[38;"), "{plain:?}");
}
