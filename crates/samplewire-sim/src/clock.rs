//! A machine's clock: its own origin and its own rate.

use samplewire_proto::Nanos;

/// Shows local time for the world's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    offset_ns: u64,
    drift_ppb: i64,
}

impl Clock {
    /// A clock that showed `offset` when the world began and gains `drift_ppb` ns a second.
    pub(crate) const fn new(offset: Nanos, drift_ppb: i64) -> Self {
        Self { offset_ns: offset.0, drift_ppb }
    }

    /// What the clock shows at `world` time.
    pub(crate) const fn local(&self, world: Nanos) -> Nanos {
        let gained = world.0 as i64 * self.drift_ppb / PPB;
        Nanos((self.offset_ns + world.0).wrapping_add_signed(gained))
    }

    /// The first instant at which the clock shows `local` or more.
    pub(crate) const fn world(&self, local: Nanos) -> Nanos {
        let elapsed = local.0.saturating_sub(self.offset_ns);
        if self.drift_ppb == 0 || elapsed > ELAPSED_MAX {
            return Nanos(elapsed);
        }
        let gained = elapsed as i64 * self.drift_ppb / (PPB + self.drift_ppb);
        let mut world = Nanos(elapsed.saturating_add_signed(-gained).saturating_sub(1));
        while self.local(world).0 < local.0 {
            world.0 += 1;
        }
        world
    }
}

const PPB: i64 = 1_000_000_000;
/// Products with the largest drift fit 63 bits up to here: 25 hours.
const ELAPSED_MAX: u64 = 90_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timer_fires_when_its_time_is_shown_and_not_before() {
        for drift_ppb in [-100_000, -1, 0, 1, 100_000] {
            let clock = Clock::new(Nanos(1 << 40), drift_ppb);
            for elapsed in [0, 1, 17, 999_999_937, 3_600_000_000_000] {
                let local = Nanos((1 << 40) + elapsed);
                let world = clock.world(local);
                assert!(clock.local(world) >= local);
                assert!(world.0 == 0 || clock.local(Nanos(world.0 - 1)) < local);
            }
        }
    }
}
