//! The options of congestion control, for every verb that sends.

use clap::{Args, ValueEnum};
use samplewire::Control;
use samplewire_io::UdpOptions;

use super::values;
use crate::failure::Failure;
use crate::wiring;

// No doc comment: clap would use it for the verb.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ControlOptions {
    /// What limits the rate of each sent stream when switches mark congestion
    #[arg(long, value_name = "HOW", default_value = "dcqcn")]
    pub(crate) control: ControlKind,

    /// With --control fixed, that rate; with dcqcn, the rate to start at if the source has none, from
    /// 10M [default of dcqcn: the interface's speed]. Bits per second of wire time, 100k to 1T
    #[arg(long, value_name = "BPS", value_parser = values::control_rate)]
    pub(crate) control_rate: Option<f64>,

    /// Speed of the interface for --control dcqcn, 1M to 10T, where the system does not know it: in a
    /// virtual machine, on a TAP device, in slow motion [default: what the interface reports]
    #[arg(long, value_name = "BPS", value_parser = values::line_rate)]
    pub(crate) line_rate: Option<f64>,
}

/// Whether and how marks limit the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ControlKind {
    /// Marks are only counted
    None,
    /// Keep to --control-rate, marked or not
    Fixed,
    /// Marks cut the rate, and it rises again without them
    Dcqcn,
}

impl ControlOptions {
    /// The socket options of a command that sends: those of every command, and the speed of the
    /// interface.
    pub(crate) fn udp_options(&self) -> UdpOptions {
        let options = wiring::udp_options();
        match self.line_rate {
            Some(bps) => options.line_bps(bps as u64),
            None => options,
        }
    }

    /// What both options say together.
    pub(crate) fn control(&self) -> Result<Control, Failure> {
        let name = self.control.to_possible_value().expect("no kind is hidden");
        let rate_bps = self.control_rate.map(|bps| bps as u64);
        Control::named(name.get_name(), rate_bps)
            .map_err(|error| Failure::Contradiction(error.words("--control", "--control-rate")))
    }

    /// The same, for a command that sends only with some of its options.
    pub(crate) fn control_if(&self, sends: bool) -> Result<Control, Failure> {
        let control = self.control()?;
        if sends || control == Control::default() && self.line_rate.is_none() {
            return Ok(control);
        }
        Err(Failure::Contradiction(
            "--control limits what is sent, and nothing is: leave --control, --control-rate and \
             --line-rate out"
                .into(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ControlOptions,
    }

    fn control(line: &str) -> Result<Control, String> {
        let words = ["x"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.options.control().map_err(|failure| failure.to_string())
    }

    #[test]
    fn rate_belongs_to_fixed_and_starts_dcqcn() {
        assert_eq!(control(""), Ok(Control::Dcqcn { start_bps: None }));
        let line = "--control dcqcn --control-rate 1G";
        assert_eq!(control(line), Ok(Control::Dcqcn { start_bps: Some(1_000_000_000) }));
        assert_eq!(control("--control none"), Ok(Control::None));
        let line = "--control fixed --control-rate 100k";
        assert_eq!(control(line), Ok(Control::Fixed { bps: 100_000 }));
    }

    #[test]
    fn command_that_sends_nothing_has_no_control() {
        let options = |line: &str| Line::try_parse_from(["x"].into_iter().chain(line.split(' ')));
        let none = options("--control none").expect("it is a control").options;
        assert_eq!(none.control_if(true).ok(), Some(Control::None));
        assert!(none.control_if(false).is_err_and(|it| it.to_string().contains("--control-rate")));
        let dcqcn = options("--control dcqcn").expect("it is a control").options;
        assert_eq!(dcqcn.control_if(false).ok(), Some(Control::default()));
        let line = options("--line-rate 1G").expect("it is a rate").options;
        assert_eq!(line.control_if(true).ok(), Some(Control::default()));
        assert!(line.control_if(false).is_err_and(|it| it.to_string().contains("--line-rate")));
    }

    #[test]
    fn contradictions_name_both_options() {
        for line in [
            "--control fixed",
            "--control none --control-rate 1G",
            "--control dcqcn --control-rate 9M",
        ] {
            let words = control(line).unwrap_err();
            assert!(words.contains("--control-rate"), "{words}");
            assert!(words.contains(&line[..line.find(" --control-rate").unwrap_or(line.len())]));
        }
    }
}
