//! What follows when the network heals: everything ends, and a stream can be opened and arrives.

use samplewire_proto::Nanos;

use super::ledger::{Broken, Property};
use super::world::World;

/// Lets the network heal.
///
/// # Errors
/// What does not hold then.
pub(super) fn heal(world: &mut World, mut lines: Option<&mut Vec<String>>) -> Result<(), Broken> {
    world.heal();
    write_line(lines.as_deref_mut(), "the network heals");
    run(world, lines.as_deref_mut(), Property::Ends)?;
    write_line(lines.as_deref_mut(), "a stream is opened again");
    let until = world.now + REOPEN_PATIENCE;
    while world.now < until {
        world.reopen(lines.as_deref_mut());
        run(world, lines.as_deref_mut(), Property::Reopens)?;
        if world.newest_is_whole() {
            return Ok(());
        }
        world.now = world.now + REOPEN_PAUSE;
    }
    let what = format!("no stream arrives within {} s", REOPEN_PATIENCE.0 / 1_000_000_000);
    Err(Broken { property: Property::Reopens, what })
}

fn write_line(lines: Option<&mut Vec<String>>, line: &str) {
    if let Some(lines) = lines {
        lines.push(format!("          {line}"));
    }
}

/// Runs until nothing goes on.
fn run(
    world: &mut World,
    mut lines: Option<&mut Vec<String>>,
    property: Property,
) -> Result<(), Broken> {
    let until = world.now + PATIENCE;
    for _ in 0..EVENTS_MAX {
        if let Some(broken) = world.broken() {
            return Err(broken.clone());
        }
        if world.is_quiet() {
            return Ok(());
        }
        let Some(event) = world.next_without_fault() else { break };
        if world.now > until {
            break;
        }
        world.take(event, lines.as_deref_mut());
    }
    let span_ms = world.now.since(until - PATIENCE).0 / 1_000_000;
    let what = format!("no end after {span_ms} ms without a fault: {}", world.standing());
    Err(Broken { property, what })
}

/// The longest that something may take: an opening 1 s, a peer's death 400 ms, a half-open stream
/// 3 s.
const PATIENCE: Nanos = Nanos::from_millis(6_000);

/// After 16 s no opening from before is compared with (`docs/protocol.md#3.9`).
const REOPEN_PATIENCE: Nanos = Nanos::from_millis(20_000);

const REOPEN_PAUSE: Nanos = Nanos::from_millis(250);

/// Events without an end are a loop.
const EVENTS_MAX: usize = 5_000;
