//! How many messages the next receive requests.

/// Few after few, many after many. Each requested message takes a header, and the kernel looks once
/// more after the last one that is there. A wait for one packet does not pay for a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    messages: usize,
    /// Of the last receive: the longest message, and whether one had joined packets.
    longest_bytes: usize,
    is_joined: bool,
}

impl Depth {
    pub(super) const fn new() -> Self {
        Self { messages: 1, longest_bytes: 0, is_joined: false }
    }

    /// What to ask for, of at most `most`.
    pub(super) fn of(self, most: usize) -> usize {
        let in_cache =
            if self.is_joined { JOINED_MESSAGES } else { BYTES / self.longest_bytes.max(1) };
        self.messages.min(most).min(in_cache.max(1))
    }

    /// What came begins to be seen.
    pub(super) const fn begin(&mut self) {
        (self.longest_bytes, self.is_joined) = (0, false);
    }

    /// A message came.
    pub(super) fn see(&mut self, len_bytes: usize, is_joined: bool) {
        self.longest_bytes = self.longest_bytes.max(len_bytes);
        self.is_joined |= is_joined;
    }

    /// Of `asked` messages so many came.
    pub(super) fn note(&mut self, asked: usize, came: usize) {
        self.messages = if came == asked { STEP * came } else { 2 * came }.max(1);
    }
}

/// The factor by which a request grows after one that was filled: the third call takes a burst.
const STEP: usize = 8;

/// Of packets that were not joined, one call takes so many bytes: they are copied once more, and both
/// copies are to stay in a core's own cache.
const BYTES: usize = 144 << 10;

/// Of joined ones so many messages: 1 MiB, so that they are still in a cache when they are read.
const JOINED_MESSAGES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_asked_for_after_none_and_all_by_the_third_full_call() {
        let mut depth = Depth::new();
        let mut asked = Vec::new();
        for there in [64, 64, 64, 64, 5, 0, 1, 0] {
            let ask = depth.of(64);
            depth.note(ask, ask.min(there));
            asked.push(ask);
        }
        assert_eq!(asked, [1, 8, 64, 64, 64, 10, 1, 8]);
    }

    #[test]
    fn few_long_messages_are_asked_for_and_many_short_ones() {
        let asked = |len_bytes: usize, is_joined: bool| {
            let mut depth = Depth { messages: 64, ..Depth::new() };
            depth.begin();
            depth.see(100, false);
            depth.see(len_bytes, is_joined);
            depth.of(64)
        };
        assert_eq!(asked(8_948, false), 16);
        assert_eq!(asked(1_460, false), 64);
        assert_eq!(asked(63_360, true), 16);
        assert_eq!(asked(1 << 20, false), 1);
        let mut depth = Depth { messages: 64, ..Depth::new() };
        depth.see(8_948, false);
        depth.begin();
        assert_eq!(depth.of(64), 64, "nothing is known of what comes next");
    }
}
