//! What the user may do.

use super::super::check::{Answer, Check, NoReading, Reading, Severity};
use super::super::context::Context;
use super::super::fix::Fix;
use super::super::reader::ReadError;
use crate::figures::{measured, span};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "rights.rtprio",
        title: "real-time priority that the user may set",
        severity: Severity::Note,
        read: rtprio,
        reason: "--priority needs at least 1, if one core is not enough for the stream beside other \
                 threads",
        cost: "ordinary threads delay the I/O thread",
        measured: Some(
            "busy loops beside the stream: SCHED_FIFO at 9.4 Gb/s lost 1.9 % (AMD EPYC, 2 cores, veth)",
        ),
    },
    Check {
        id: "rights.memlock",
        title: "memory that the user may lock",
        severity: Severity::Note,
        read: memlock,
        reason: "--lock-memory needs the samples of the window and the buffers",
        cost: "pages that were swapped out pause the I/O thread",
        measured: None,
    },
    Check {
        id: "rights.rt_runtime",
        title: "pause that the kernel forces on real-time threads",
        severity: Severity::Risk,
        read: rt_runtime,
        reason: "a spinning thread of SCHED_FIFO is stopped for period less runtime; that must be \
                 shorter than the stall time",
        cost: "each period has a pause that the socket's buffer does not cover",
        measured: None,
    },
    Check {
        id: "rights.files",
        title: "files that a process may open",
        severity: Severity::Risk,
        read: files,
        reason: "16 streams have 8 files each: sockets, wake-ups, recording, journal",
        cost: "an opening fails",
        measured: None,
    },
    Check {
        id: "rights.capabilities",
        title: "CAP_NET_ADMIN, for a larger buffer than rmem_max",
        severity: Severity::Note,
        read: net_admin,
        reason: "needed only where net.core.rmem_max is below the limit of socket.rmem_max",
        cost: "see socket.rmem_max",
        measured: None,
    },
];

fn rtprio(context: &Context<'_>) -> Answer {
    // A whole core is free for the I/O thread where the process may use more than the stream takes.
    let spare = context.own_cpus()?.len() as f64 - context.demand.cores();
    let limit = limit_of(context, "Max realtime priority")?;
    let may = limit >= 1.0 || context.has_capability(CAP_SYS_NICE)?;
    let value = if may { "1 or more" } else { "none" };
    let fix = Fix::advice(
        "add `@samplewire - rtprio 99` to /etc/security/limits.d/90-samplewire.conf, or give the \
         command CAP_SYS_NICE (docs/command.md#rights)",
    );
    Ok(Reading::state(may || spare >= 1.0, value, "1, or a core to spare").with_fix(fix))
}

fn memlock(context: &Context<'_>) -> Answer {
    let least = context.demand.window_bytes() + context.demand.stall_bytes();
    let limit = limit_of(context, "Max locked memory")?;
    let has = if context.has_capability(CAP_IPC_LOCK)? { f64::INFINITY } else { limit };
    let fix = Fix::advice(
        "add `@samplewire - memlock unlimited` to /etc/security/limits.d/90-samplewire.conf, or \
         give the command CAP_IPC_LOCK (docs/command.md#rights)",
    );
    let words = |bytes: f64| {
        if bytes.is_finite() { measured(bytes, "B") } else { "unlimited".to_owned() }
    };
    Ok(Reading::at_least(has, least, words).with_fix(fix))
}

fn rt_runtime(context: &Context<'_>) -> Answer {
    let path = "/proc/sys/kernel/sched_rt_runtime_us";
    let period: f64 = context.number("/proc/sys/kernel/sched_rt_period_us")?;
    let runtime = context.signed_number(path)?;
    let pause = if runtime < 0.0 { 0.0 } else { (period - runtime).max(0.0) };
    let most = context.demand.stall.as_secs_f64();
    let least_runtime = (period - most * 1e6).max(0.0).ceil();
    let fix = Fix::sysctl(path, if least_runtime > 0.0 { least_runtime } else { -1.0 });
    Ok(Reading::at_most(pause * 1e-6, most, span).with_fix(fix))
}

fn files(context: &Context<'_>) -> Answer {
    let limit = limit_of(context, "Max open files")?;
    let fix =
        Fix::advice("add `@samplewire - nofile 4096` to /etc/security/limits.d/90-samplewire.conf");
    Ok(Reading::at_least(limit, FILES_LEAST, |files| format!("{files}")).with_fix(fix))
}

fn net_admin(context: &Context<'_>) -> Answer {
    let charged = context.demand.stall_bytes() / 2.0;
    let is_needed = context.number::<f64>("/proc/sys/net/core/rmem_max")? < charged;
    let has = context.has_capability(CAP_NET_ADMIN)?;
    let value = if has { "yes" } else { "no" };
    let fix = Fix::advice(
        "raise net.core.rmem_max, or give the command CAP_NET_ADMIN (docs/command.md#rights)",
    );
    Ok(Reading::state(has || !is_needed, value, if is_needed { "yes" } else { "not needed" })
        .with_fix(fix))
}

/// A soft limit of this process; infinite for `unlimited`.
fn limit_of(context: &Context<'_>, name: &str) -> Result<f64, NoReading> {
    let text = context.text(LIMITS)?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    let word = rest.and_then(|rest| rest.split_ascii_whitespace().next()).unwrap_or_default();
    match word {
        "unlimited" => Ok(f64::INFINITY),
        word => word
            .parse::<u64>()
            .map(|it| it as f64)
            .map_err(|_| ReadError::form(LIMITS, word).into()),
    }
}

const LIMITS: &str = "/proc/self/limits";
const CAP_NET_ADMIN: u32 = 12;
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;
/// Files of 16 streams and their recordings, with wake-ups and journals.
const FILES_LEAST: f64 = 16.0 * 8.0;
