//! Memory for samples, and what makes the kernel pause for it.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::{Context, parse};
use super::super::fix::{Fix, Place};
use crate::figures::{grouped, measured};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "memory.available",
        title: "memory that is available",
        severity: Severity::Severe,
        read: available,
        reason: "the samples of the window, and the socket's buffer for the stall time",
        cost: "the opening fails, or the system swaps",
        measured: None,
    },
    Check {
        id: "memory.group",
        title: "memory that the control group may use",
        severity: Severity::Severe,
        read: group,
        reason: "the same, below the limit of the control group",
        cost: "the kernel ends the process",
        measured: None,
    },
    Check {
        id: "memory.huge_pages",
        title: "huge pages for the window",
        severity: Severity::Note,
        read: huge_pages,
        reason: "--huge-pages needs the window in free huge pages, or transparent ones \
                 (madvise or always)",
        cost: "more entries of the TLB for the same samples",
        measured: Some(
            "transparent huge pages for all memory: no measurable difference (veth, 2 cores)",
        ),
    },
    Check {
        id: "memory.defrag",
        title: "when the kernel moves memory to form huge pages",
        severity: Severity::Risk,
        read: defrag,
        reason: "`always` makes any thread that touches memory wait for it",
        cost: "pauses of ms in the middle of a stream",
        measured: None,
    },
    Check {
        id: "memory.swap",
        title: "swapped memory of the system",
        severity: Severity::Risk,
        read: swap,
        reason: "swap may be in use only if free memory covers the window and the buffers twice",
        cost: "a page that comes back from the disk pauses the I/O thread for ms",
        measured: None,
    },
    Check {
        id: "memory.reserve",
        title: "memory kept for interrupts (vm.min_free_kbytes)",
        severity: Severity::Risk,
        read: reserve,
        reason: "a card's driver cannot wait for memory: the reserve covers what arrives in the stall \
                 time, as the kernel charges it",
        cost: "the driver drops frames (queue_allocation_failures)",
        measured: None,
    },
    Check {
        id: "memory.numa_balancing",
        title: "automatic NUMA balancing",
        severity: Severity::Note,
        read: balancing,
        reason: "off, if there are several nodes: the kernel unmaps pages to see which CPU uses them",
        cost: "page faults in the middle of a stream",
        measured: None,
    },
];

fn available(context: &Context<'_>) -> Answer {
    let has = kibibytes(context, "MemAvailable")?;
    let fix = Fix::advice("a smaller --window, or end other programs");
    Ok(Reading::at_least(has, needed(context), bytes).with_fix(fix))
}

fn group(context: &Context<'_>) -> Answer {
    let path = format!("{}/memory.max", context.control_group()?);
    let Some(text) = context.optional(&path)? else {
        return Err(NoReading::NotApplicable("the control group has no memory limit".into()));
    };
    let has = match text.trim() {
        "max" => f64::INFINITY,
        word => parse(&path, word)?,
    };
    let show = |count: f64| if count.is_finite() { bytes(count) } else { "unlimited".to_owned() };
    let fix = Fix::advice("raise the limit: MemoryMax= of the unit, `--memory` of the container");
    Ok(Reading::at_least(has, needed(context), show).with_fix(fix))
}

fn huge_pages(context: &Context<'_>) -> Answer {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let transparent = context.optional(path)?;
    let chosen = transparent.as_deref().and_then(chosen).unwrap_or("never").to_owned();
    let free: f64 = context.field(MEMINFO, "HugePages_Free")?;
    let size = kibibytes(context, "Hugepagesize")?.max(1.0);
    let least = (context.demand.window_bytes() / size).ceil();
    let is_right = free >= least || chosen != "never";
    let value = format!("{} free, transparent: {chosen}", grouped(free as u64));
    let limit = format!("{} free, or transparent: madvise", grouped(least as u64));
    let fix = if transparent.is_some() {
        Fix::set(Place::File(path.into()), "madvise")
    } else {
        Fix::sysctl("/proc/sys/vm/nr_hugepages", least)
    };
    Ok(Reading::state(is_right, value, limit).with_fix(fix))
}

fn defrag(context: &Context<'_>) -> Answer {
    let path = "/sys/kernel/mm/transparent_hugepage/defrag";
    let Some(text) = context.optional(path)? else {
        return Err(NoReading::NotApplicable("the kernel has no transparent huge pages".into()));
    };
    let chosen = chosen(&text).ok_or_else(|| super::super::reader::ReadError::form(path, &text))?;
    let fix = Fix::set(Place::File(path.into()), "madvise");
    Ok(Reading::state(chosen != "always", chosen, "any but always").with_fix(fix))
}

fn swap(context: &Context<'_>) -> Answer {
    let used = kibibytes(context, "SwapTotal")? - kibibytes(context, "SwapFree")?;
    let has = kibibytes(context, "MemAvailable")?;
    let most = if has >= 2.0 * needed(context) { f64::INFINITY } else { 0.0 };
    let show = |count: f64| if count.is_finite() { bytes(count) } else { "any".to_owned() };
    let fix = Fix::advice("--lock-memory, end other programs, or `swapoff -a`");
    Ok(Reading::at_most(used, most, show).with_fix(fix))
}

fn reserve(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/vm/min_free_kbytes";
    let least = (context.demand.stall_bytes() / 1_024.0).ceil();
    let words = |kibibytes: f64| bytes(kibibytes * 1_024.0);
    let reading = Reading::at_least(context.number(path)?, least, words);
    Ok(reading.with_fix(Fix::sysctl(path, least)))
}

fn balancing(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/kernel/numa_balancing";
    let Some(text) = context.optional(path)? else {
        return Err(NoReading::NotApplicable("the kernel has no NUMA balancing".into()));
    };
    let nodes = context.text("/sys/devices/system/node/online")?;
    let is_single = nodes.trim() == "0";
    let mode: u32 = parse(path, text.trim())?;
    let limit = if is_single { "any: one node" } else { "0" };
    Ok(Reading::state(mode == 0 || is_single, mode.to_string(), limit)
        .with_fix(Fix::sysctl(path, 0)))
}

/// Samples of the window, and the socket's buffer.
fn needed(context: &Context<'_>) -> f64 {
    context.demand.window_bytes() + context.demand.stall_bytes()
}

fn kibibytes(context: &Context<'_>, key: &str) -> Result<f64, NoReading> {
    Ok(context.field::<u64>(MEMINFO, key)? as f64 * 1_024.0)
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<&str> {
    text.split_once('[')?.1.split_once(']').map(|it| it.0)
}

fn bytes(count: f64) -> String {
    measured(count, "B")
}

const MEMINFO: &str = "/proc/meminfo";
