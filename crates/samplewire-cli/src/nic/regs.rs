//! `nic regs`: a board's registers and counters, by name.

use serde::Serialize;

use super::registers::Registers;
use crate::arguments::{Access, RegsArguments};
use crate::document::{self, Report};
use crate::failure::Failure;
use crate::figures::grouped;
use crate::outcome::Outcome;

/// The JSON of an access. Fields are added in later versions, never changed.
#[derive(Debug, Default, Serialize)]
struct Regs {
    console: String,
    /// What was read or written, by name.
    values: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Report for Regs {
    fn fail(&mut self, words: String) {
        self.error = Some(words);
    }
}

pub(super) fn run(arguments: &RegsArguments) -> Result<Outcome, Failure> {
    document::run(arguments.json, false, |console, report: &mut Regs| {
        report.console = arguments.at.to_string();
        let mut registers = Registers::connect(&arguments.at)?;
        for Access { name, value } in &arguments.accesses {
            let value = match *value {
                Some(value) => {
                    registers.write(name, value)?;
                    console.line(format_args!("{name} = {value:#010x}"));
                    value
                }
                None => {
                    let value = registers.read(name)?;
                    console.line(format_args!("{name} {value:#010x} ({value})"));
                    value
                }
            };
            report.values.insert(name.clone(), value.into());
        }
        if arguments.accesses.is_empty() {
            for counter in registers.counters()? {
                let value = grouped(counter.value);
                console.line(format_args!("{:<28} {value:>16}", counter.name));
                report.values.insert(counter.name, counter.value.into());
            }
        }
        Ok(Outcome::Whole)
    })
}
