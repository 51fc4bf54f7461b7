//! Clocks.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::{Context, parse_signed};
use super::super::fix::{Fix, Place};
use crate::figures::span;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "time.synchronised",
        title: "time service that keeps the clock",
        severity: Severity::Note,
        read: synchronised,
        reason: "the kernel must know one (no STA_UNSYNC): recordings and lead times use this clock",
        cost: "times of recordings of different hosts cannot be compared",
        measured: None,
    },
    Check {
        id: "time.error",
        title: "largest error of the clock",
        severity: Severity::Note,
        read: error,
        reason: "the stall time: an error beyond it is larger than what buffers cover",
        cost: "bursts with a time arrive late, or wait",
        measured: None,
    },
    Check {
        id: "time.frequency",
        title: "correction of the clock's frequency",
        severity: Severity::Note,
        read: frequency,
        reason: "below 500 ppm, the most that the kernel corrects",
        cost: "the clock runs away from the time service",
        measured: None,
    },
    Check {
        id: "time.source",
        title: "source of the clock",
        severity: Severity::Risk,
        read: source,
        reason: "one that is read without a system call: two reads for each packet, at 1 us each, may \
                 not take a core",
        cost: "about 1 us for each read of the time",
        measured: None,
    },
    Check {
        id: "time.ptp",
        title: "PTP clock of the card",
        severity: Severity::Note,
        read: ptp,
        reason: "needed if the clock's error is larger than the stall time",
        cost: "packets have no time stamps of the card",
        measured: None,
    },
];

fn synchronised(context: &Context<'_>) -> Answer {
    let is_kept = context.field::<u8>(STATE, "synchronised")? == 1;
    let fix = Fix::advice("start chronyd, systemd-timesyncd, or ptp4l with phc2sys");
    Ok(Reading::state(is_kept, if is_kept { "yes" } else { "no" }, "yes").with_fix(fix))
}

fn error(context: &Context<'_>) -> Answer {
    let error = context.field::<f64>(STATE, "error_us_max")? * 1e-6;
    let fix = Fix::advice("a nearer time server, or PTP: ptp4l with phc2sys");
    Ok(Reading::at_most(error, context.demand.stall.as_secs_f64(), span).with_fix(fix))
}

fn frequency(context: &Context<'_>) -> Answer {
    let scaled = parse_signed(STATE, &context.word(STATE, "frequency_scaled")?)?;
    let ppm = scaled.abs() / 65_536.0;
    let fix =
        Fix::advice("remove the drift file of the time service, or choose another clock source");
    Ok(Reading::at_most(ppm, PPM_MAX, |ppm| format!("{ppm:.1} ppm")).with_fix(fix))
}

fn source(context: &Context<'_>) -> Answer {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let path = format!("{folder}/current_clocksource");
    let chosen = context.text(&path)?;
    let available = context.text(&format!("{folder}/available_clocksource"))?;
    let fast = |name: &str| FAST.contains(&name);
    let is_needed = context.demand.packets_per_s() * 2e-6 > 1.0;
    let other = available.split_ascii_whitespace().find(|name| fast(name));
    let fix = match other {
        Some(name) => Fix::set(Place::File(path), name),
        None => {
            Fix::advice("the machine has no faster one; on a virtual machine, see its settings")
        }
    };
    let limit = if is_needed { FAST.join(", ") } else { "any at this rate".to_owned() };
    Ok(Reading::state(fast(chosen.trim()) || !is_needed, chosen.trim(), limit).with_fix(fix))
}

fn ptp(context: &Context<'_>) -> Answer {
    let path = context.answer_path("time_stamps")?;
    let has = context.text(&path)?.lines().any(|line| line.starts_with("phc_index "));
    let error = context.field::<f64>(STATE, "error_us_max")? * 1e-6;
    if context.optional(&context.card_path("device/numa_node")?)?.is_none() && !has {
        return Err(NoReading::NotApplicable("a virtual interface".into()));
    }
    let is_needed = error > context.demand.stall.as_secs_f64();
    let limit = if is_needed { "one" } else { "none needed" };
    let fix = Fix::advice("a card with hardware time stamps (`ethtool -T IF`)");
    Ok(Reading::state(has || !is_needed, if has { "one" } else { "none" }, limit).with_fix(fix))
}

const STATE: &str = "/clock/state";
const PPM_MAX: f64 = 499.0;
/// Read by the vDSO.
const FAST: [&str; 4] = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];
