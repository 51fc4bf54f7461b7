//! How many messages the next receive asks for.

/// Few after few, many after many: each message that is asked for takes a head, and the kernel looks
/// once more after the last that is there. Who waits for one packet does not pay for a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depth {
    messages: usize,
}

impl Depth {
    pub(super) const fn new() -> Self {
        Self { messages: 1 }
    }

    /// What to ask for, of at most `most`.
    pub(super) fn of(self, most: usize) -> usize {
        self.messages.min(most)
    }

    /// Of `asked` messages so many came.
    pub(super) fn note(&mut self, asked: usize, came: usize) {
        self.messages = if came == asked { STEP * came } else { 2 * came }.max(1);
    }
}

/// By how much more is asked for when all that was asked for came: a burst is taken by the third call.
const STEP: usize = 8;

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
}
