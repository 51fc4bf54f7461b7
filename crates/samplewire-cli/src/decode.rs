//! `decode`: prints the packets of a capture in words.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;

use crate::arguments::DecodeArguments;
use crate::capture::{self, CaptureError, CaptureReader, DecodeError, Options, Summary};
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::figures::grouped;
use crate::outcome::Outcome;

/// Reads the capture to its end, or as far as possible.
pub(crate) fn run(arguments: &DecodeArguments) -> Result<Outcome, Failure> {
    let is_stdin = arguments.file == Path::new("-");
    let name =
        if is_stdin { "standard input".into() } else { arguments.file.display().to_string() };
    let failed = |source: CaptureError| Failure::Input { path: name.clone(), source };
    let input: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&arguments.file).map_err(|error| failed(error.into()))?)
    };
    let input = BufReader::with_capacity(INPUT_BYTES, input);
    let capture = CaptureReader::new(input).map_err(failed)?;
    let out = BufWriter::with_capacity(OUTPUT_BYTES, io::stdout().lock());
    let options = Options {
        port: arguments.port,
        types: arguments.types.clone(),
        fields: arguments.verbose,
        json: arguments.json,
        // A user may watch a pipe.
        flushes: is_stdin,
    };
    let (summary, ended) = capture::decode(capture, out, &options);
    let ended = match ended {
        Ok(()) => Ok(()),
        Err(DecodeError::Capture(error)) => Err(failed(error)),
        // If the reader is gone, the command ends as usual.
        Err(DecodeError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(Outcome::Whole);
        }
        Err(DecodeError::Output(error)) => return Err(error.into()),
    };
    let mut console = Console::new(Lines::Stderr, false);
    summary
        .lines()
        .into_iter()
        .chain(tip(&summary))
        .for_each(|line| console.line(format_args!("{line}")));
    ended.map(|()| Outcome::Whole)
}

/// What to do about packets that were not found.
fn tip(summary: &Summary) -> Option<String> {
    if summary.foreign_cut > 0 {
        return Some(format!(
            "  tip: {} of the datagrams are cut off, and their CRC with them: --port shows them; \
             tcpdump -s 0 keeps all bytes",
            grouped(summary.foreign_cut)
        ));
    }
    (summary.packets() == 0)
        .then(|| "  tip: --port shows what is there, whatever its CRC".to_owned())
}

const INPUT_BYTES: usize = 1 << 18;
const OUTPUT_BYTES: usize = 1 << 16;
