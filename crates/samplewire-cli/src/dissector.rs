//! `dissector`: the Wireshark dissector, which this binary contains.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::arguments::DissectorArguments;
use crate::console::{Console, Lines};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// Prints the dissector, or writes it where Wireshark looks for it.
pub(crate) fn run(arguments: &DissectorArguments) -> Result<Outcome, Failure> {
    if !arguments.install {
        io::stdout().lock().write_all(DISSECTOR.as_bytes())?;
        return Ok(Outcome::Whole);
    }
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => personal_folder()?,
    };
    let path = folder.join(FILE_NAME);
    write(&folder, &path).map_err(Failure::of_file(&path))?;
    Console::new(Lines::Stdout, false).line(format_args!(
        "{}: installed; Wireshark loads it when it starts, or with Ctrl-Shift-L",
        path.display()
    ));
    Ok(Outcome::Whole)
}

/// Where Wireshark looks on Linux, as `tshark -G folders` prints it; the folder is the same for all
/// versions.
fn personal_folder() -> Result<PathBuf, Failure> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    Ok(PathBuf::from(home.ok_or(Failure::NoHome)?).join(".local/lib/wireshark/plugins"))
}

fn write(folder: &Path, path: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(path, DISSECTOR)
}

const DISSECTOR: &str = include_str!("../wireshark/samplewire.lua");
const FILE_NAME: &str = "samplewire.lua";
