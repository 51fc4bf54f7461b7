//! An RDMA network card that writes the packets of streams: what it notifies of.

use std::io;
use std::os::fd::AsFd;

use samplewire_io::Link;
use samplewire_io::verbs::{Card, Failure};

use super::{Endpoint, Entry};

/// What a card notifies its program of. A trait, because a test has no card.
pub(crate) trait CardNotices: AsFd + Send {
    /// See [`Card::take_notices`].
    fn take_notices(&self) -> bool;
    /// See [`Card::take_failures`].
    fn take_failures(&self, take: &mut dyn FnMut(Failure));
}

impl CardNotices for Card {
    fn take_notices(&self) -> bool {
        self.take_notices()
    }

    fn take_failures(&self, take: &mut dyn FnMut(Failure)) {
        self.take_failures(take);
    }
}

impl Endpoint {
    /// Waits for the notices of a card too.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(super) fn set_card(&mut self, card: Box<dyn CardNotices>) -> io::Result<()> {
        self.link.waker().also_for(card.as_fd())?;
        self.card = Some(card);
        Ok(())
    }

    /// Takes the notices of the card; returns whether there were any. They name no stream, so that all
    /// look at their own queue.
    #[inline(never)]
    pub(super) fn take_notices(&mut self) -> bool {
        let Self { card: Some(card), streams, arrivals, spins, .. } = self else { return false };
        // A driver that never sleeps requests none.
        if *spins || !card.take_notices() {
            return false;
        }
        for place in 0..streams.len() {
            if matches!(streams.get(place), Some(Entry::Receiving(stream)) if stream.flow.is_on_card())
            {
                arrivals.call(place);
            }
        }
        true
    }

    /// Takes the failures that the card has reported. One of the port is none of a queue pair, which
    /// waits for the interface.
    pub(super) fn take_card_failures(&mut self) {
        let Self { card: Some(card), streams, arrivals, .. } = self else { return };
        card.take_failures(&mut |failure| {
            if failure.is_port {
                return;
            }
            for place in 0..streams.len() {
                if let Some(Entry::Receiving(stream)) = streams.get_mut(place) {
                    stream.flow.note_card_failure(failure.qpn);
                    arrivals.call(place);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::BorrowedFd;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use samplewire_io::{Clock, Waker};
    use samplewire_proto::Tag;
    use samplewire_proto::receiver::Phase;

    use super::super::tests::Rig;
    use super::super::{Opened, Receiving};
    use super::*;
    use crate::receiver::{CardPeer, card_flow};

    const LONG: Duration = Duration::from_secs(20);

    /// A card, whose descriptor is that of a waker.
    #[derive(Clone)]
    struct FakeCard {
        waker: Waker,
        has_notice: Arc<AtomicBool>,
        failure: Arc<Mutex<Option<Failure>>>,
    }

    impl FakeCard {
        fn new() -> Self {
            let waker = Waker::new().unwrap();
            Self { waker, has_notice: Arc::default(), failure: Arc::default() }
        }

        fn notify(&self) {
            self.has_notice.store(true, Ordering::Relaxed);
            self.waker.wake();
        }
    }

    impl AsFd for FakeCard {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.waker.as_fd()
        }
    }

    impl CardNotices for FakeCard {
        fn take_notices(&self) -> bool {
            self.has_notice.swap(false, Ordering::Relaxed)
        }

        fn take_failures(&self, take: &mut dyn FnMut(Failure)) {
            self.failure.lock().unwrap().take().into_iter().for_each(take);
        }
    }

    /// An endpoint with a card, and one stream that the card writes.
    fn rig() -> (Rig, FakeCard, CardPeer) {
        let (mut rig, card) = (Rig::new(false), FakeCard::new());
        rig.endpoint.set_card(Box::new(card.clone())).unwrap();
        let (peer, clock) = (rig.far.local_addr(), Clock::start(1));
        let (flow, card_peer) = card_flow(rig.now, peer, clock, rig.wakeups.wake_handle(0));
        let opened = Opened { tag: Tag(1), peer_tag: Tag(2), peer };
        let place = rig.endpoint.streams.take_free().expect("all are free");
        let entry = Entry::Receiving(Box::new(Receiving { flow, opened, room: (1, 1) }));
        rig.endpoint.streams.set(place, entry);
        rig.endpoint.call(place);
        rig.turn();
        (rig, card, card_peer)
    }

    fn stream(rig: &mut Rig) -> &mut Receiving {
        match rig.endpoint.streams.get_mut(0) {
            Some(Entry::Receiving(stream)) => stream,
            _ => panic!("it is there"),
        }
    }

    #[test]
    fn notice_of_a_card_ends_the_wait_of_the_driver() {
        let (mut rig, card, _peer) = rig();
        card.notify();
        let begun = Instant::now();
        rig.endpoint.link().wait(LONG).unwrap();
        assert!(begun.elapsed() < LONG / 2);
    }

    #[test]
    fn packets_are_taken_when_a_notice_comes() {
        let (mut rig, card, peer) = rig();
        peer.come(0);
        card.notify();
        rig.pass(1);
        rig.turn();
        assert_eq!(stream(&mut rig).flow.receiver.stats().received, 1);
        assert!(!card.has_notice.load(Ordering::Relaxed), "it would end the next wait");
    }

    /// `docs/protocol.md#13.7`: a cable that is out is no error of a queue pair.
    #[test]
    fn failure_ends_the_stream_whose_queue_pair_it_names() {
        for (qpn, is_port, ends) in [
            (Some(CardPeer::QPN), false, true),
            (Some(CardPeer::QPN + 1), false, false),
            (None, false, true),
            (None, true, false),
        ] {
            let (mut rig, card, _peer) = rig();
            let failure = Failure { qpn, is_port, words: String::new() };
            *card.failure.lock().unwrap() = Some(failure);
            for _ in 0..2 {
                rig.pass(20_000);
                rig.turn();
            }
            let is_flowing = matches!(stream(&mut rig).flow.receiver.phase(), Phase::Flowing);
            assert_eq!(!is_flowing, ends, "{qpn:?}, {is_port}");
        }
    }
}
