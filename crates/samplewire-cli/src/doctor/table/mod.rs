//! The table of checks, a file for each group.

mod arrival;
mod card;
mod cpu;
mod disk;
mod memory;
mod path;
mod rights;
mod socket;
mod time;

use super::check::Check;

/// All checks, group by group.
pub(super) fn checks() -> impl Iterator<Item = &'static Check> {
    GROUPS.iter().copied().flatten()
}

const GROUPS: [&[Check]; 9] = [
    arrival::CHECKS,
    path::CHECKS,
    card::CHECKS,
    socket::CHECKS,
    cpu::CHECKS,
    rights::CHECKS,
    memory::CHECKS,
    time::CHECKS,
    disk::CHECKS,
];
