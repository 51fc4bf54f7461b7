//! Options of `verify`.

use std::path::PathBuf;

use clap::Args;

/// A recording to prove.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct VerifyArguments {
    /// The recording: NAME, NAME.sigmf-meta or NAME.sigmf-data; NAME stands for NAME-0001,
    /// NAME-0002 and so on if it was split
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print one JSON object instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

const AFTER_HELP: &str = "\
A recording is proven if its data has the SHA-512 and the length in its metadata, and each \
index from the first to the last is in the data or named as missing. If the recorder was killed, \
the journal NAME.sigmf-journal proves the data as far as it goes. Such a recording has no SHA-512 \
yet, and the output says so.

Example:
  samplewire verify out.sigmf-data

Exit status: 0 proven, 1 usage (the file is not there or cannot be read), 3 not proven: each fault \
is printed with its values";
