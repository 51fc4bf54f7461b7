//! A queue pair: a requester, a responder, and the state of their connection (IB 10.3).
//!
//! Drain order: after a batch of [`QueuePair::handle`], a `post_*` or a passed timeout call
//! [`QueuePair::poll_transmit`] until it is `None`, then [`QueuePair::poll_event`] until it is `None`,
//! then sleep until [`QueuePair::poll_timeout`]. There is no event for a failure: after the drain
//! [`QueuePair::state`] shows a move to ERROR.
//!
//! A failure of either half moves the queue pair to ERROR: its last NAK still leaves, and all that is
//! posted is flushed. [`QueuePair::reset`] forgets the connection, with its numbers; no number of it
//! outlives that.

mod notification;
mod reaction;
mod state;
#[cfg(test)]
mod tests;
mod transmit;

use samplewire_proto::Nanos;
use samplewire_proto::rate::{ParamsError, WireRate};

use crate::counters::{QpStats, RequesterStats, ResponderStats};
use crate::number::Qpn;
use crate::region::Region;
use crate::requester::{
    AckTimeout, PostError, Requester, RequesterConfig, RequesterConfigError, SendCompletion,
    SendSlot, WorkRequest,
};
use crate::responder::{
    Placement, ReceiveCompletion, ReceiveQueueFull, ReceiveRequest, ReceiveSlot, Responder,
    ResponderConfig,
};
use crate::wire::{Body, Frame, P_KEY_DEFAULT, Packet, Route};

pub use notification::NotificationPoint;
use reaction::Reaction;
pub use reaction::ReactionConfig;
pub use state::{State, StateError, Transition};
pub use transmit::Transmit;

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct QueuePair<S, Q, R> {
    number: Qpn,
    state: State,
    peer: Peer,
    requester: Requester<S>,
    responder: Responder<Q, R>,
    /// `None` sends no congestion notifications.
    notification: Option<NotificationPoint>,
    reaction: Reaction,
    stats: QpStats,
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peer {
    /// The number of its queue pair.
    pub number: Qpn,
    /// The way of frames to it.
    pub route: Route,
}

/// Something that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A work request.
    Sent(SendCompletion),
    /// A receive request.
    Received(ReceiveCompletion),
}

/// Why a queue pair does not become ready to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadyToSendError {
    /// The state does not have the transition.
    #[error(transparent)]
    State(#[from] StateError),
    /// A choice is out of range.
    #[error(transparent)]
    Config(#[from] RequesterConfigError),
}

/// Why a work request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostSendError {
    /// Work requests are taken in RTS, and flushed in ERROR.
    #[error("a queue pair in {0:?} takes no work requests")]
    State(State),
    /// The requester does not take it.
    #[error(transparent)]
    Post(#[from] PostError),
}

/// Why a receive request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PostReceiveError {
    /// Receive requests are taken from INIT on, and flushed in ERROR.
    #[error("a queue pair in {0:?} takes no receive requests")]
    State(State),
    /// The queue is full.
    #[error(transparent)]
    Full(#[from] ReceiveQueueFull),
}

/// Why congestion notifications do not limit the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReactError {
    /// The rate of requests is limited in RTS.
    #[error("a queue pair in {0:?} sends no requests")]
    State(State),
    /// A parameter does not hold.
    #[error(transparent)]
    Params(#[from] ParamsError),
}

impl<S, Q, R> QueuePair<S, Q, R>
where
    S: AsRef<[SendSlot]> + AsMut<[SendSlot]>,
    Q: AsRef<[ReceiveSlot]> + AsMut<[ReceiveSlot]>,
    R: AsRef<[Region]>,
{
    /// A queue pair in RESET, with slots for work requests and receive requests and the regions
    /// that a peer may write to.
    pub fn new(number: Qpn, sends: S, receives: Q, regions: R) -> Self {
        let config = RequesterConfig::default();
        Self {
            number,
            state: State::Reset,
            peer: Peer::default(),
            requester: Requester::new(config, sends).expect("the default is in range"),
            responder: Responder::new(ResponderConfig::default(), receives, regions),
            notification: None,
            reaction: Reaction::none(),
            stats: QpStats::default(),
        }
    }

    /// Moves from RESET to INIT.
    ///
    /// # Errors
    /// The state is not RESET.
    pub fn init(&mut self) -> Result<(), StateError> {
        self.state = self.state.after(Transition::Init)?;
        Ok(())
    }

    /// Moves from INIT to RTR: names the peer, and the PSN of its first request.
    ///
    /// # Errors
    /// The state is not INIT.
    pub fn ready_to_receive(
        &mut self,
        peer: Peer,
        config: ResponderConfig,
    ) -> Result<(), StateError> {
        self.state = self.state.after(Transition::ReadyToReceive)?;
        self.peer = peer;
        self.notification = config.cnp_interval.map(NotificationPoint::new);
        self.responder.begin(config);
        Ok(())
    }

    /// Moves from RTR to RTS.
    ///
    /// # Errors
    /// The state is not RTR, or a choice is out of range; nothing changes then.
    pub fn ready_to_send(&mut self, config: RequesterConfig) -> Result<(), ReadyToSendError> {
        let state = self.state.after(Transition::ReadyToSend)?;
        self.requester.begin(config)?;
        self.state = state;
        Ok(())
    }

    /// Moves to ERROR and flushes all that is posted.
    ///
    /// # Errors
    /// The state is RESET.
    pub fn fail(&mut self) -> Result<(), StateError> {
        self.state = self.state.after(Transition::Fail)?;
        self.requester.flush();
        self.responder.flush();
        Ok(())
    }

    /// Moves to RESET under another number, or the same: what is posted is forgotten without a
    /// completion. Only the regions remain.
    pub fn reset(&mut self, number: Qpn) {
        self.state = self.state.after(Transition::Reset).expect("every state can be reset");
        self.number = number;
        self.peer = Peer::default();
        self.requester.begin(RequesterConfig::default()).expect("the default is in range");
        self.responder.clear();
        self.responder.begin(ResponderConfig::default());
        self.notification = None;
        self.reaction = Reaction::none();
        self.stats = QpStats::default();
    }

    /// The number by which frames name it.
    pub const fn number(&self) -> Qpn {
        self.number
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The way of frames to the peer.
    pub const fn route(&self) -> &Route {
        &self.peer.route
    }

    /// The sending half.
    pub const fn requester(&self) -> &Requester<S> {
        &self.requester
    }

    /// The receiving half.
    pub const fn responder(&self) -> &Responder<Q, R> {
        &self.responder
    }

    /// The regions. A change takes effect with the next packet, within a message too.
    pub const fn regions_mut(&mut self) -> &mut R {
        self.responder.regions_mut()
    }

    /// Counters of the queue pair and of its halves.
    pub const fn stats(&self) -> (&QpStats, &RequesterStats, &ResponderStats) {
        (&self.stats, self.requester.stats(), self.responder.stats())
    }

    /// Posts a message. Its bytes must stay put until its completion is polled.
    ///
    /// # Errors
    /// See [`PostSendError`]; nothing is taken then.
    pub fn post_send(&mut self, request: WorkRequest) -> Result<(), PostSendError> {
        if !self.state.takes_sends() {
            return Err(PostSendError::State(self.state));
        }
        Ok(self.requester.post(request)?)
    }

    /// Posts memory for a SEND, or a token for the immediate data of a WRITE.
    ///
    /// # Errors
    /// See [`PostReceiveError`]; nothing is taken then.
    pub fn post_receive(&mut self, request: ReceiveRequest) -> Result<(), PostReceiveError> {
        if !self.state.takes_receives() {
            return Err(PostReceiveError::State(self.state));
        }
        Ok(self.responder.post_receive(request)?)
    }

    /// Lets congestion notifications limit the rate of requests from here on, by DCQCN; without this
    /// they are counted alone. A reset ends it.
    ///
    /// # Errors
    /// The state is not RTS, or the first parameter that does not hold; nothing changes then.
    pub fn react(&mut self, now: Nanos, config: ReactionConfig) -> Result<(), ReactError> {
        // The burst follows from the MTU, which is that of the connection from RTS on.
        if self.state != State::ReadyToSend {
            return Err(ReactError::State(self.state));
        }
        self.reaction = Reaction::new(now, config, self.requester.mtu())?;
        Ok(())
    }

    /// The rate that congestion notifications leave to requests, on the wire; `None` without a limit.
    pub fn limit(&self) -> Option<WireRate> {
        self.reaction.rate()
    }

    /// Sets how long its requests wait for an acknowledgement. A timer that runs keeps its time.
    pub const fn set_timeout(&mut self, timeout: AckTimeout) {
        self.requester.set_timeout(timeout);
    }

    /// Takes a frame. The caller copies its payload to where it belongs before the next call.
    #[must_use = "the caller copies the payload to its place"]
    pub fn handle(&mut self, now: Nanos, frame: &Frame<'_>) -> Placement {
        let packet = frame.packet();
        let route = frame.route();
        let Some(counter) = self.drop_cause(&packet, &route) else {
            self.stats.taken += 1;
            let placement = match packet.body {
                Body::Request { .. } | Body::Unsupported => {
                    if route.is_marked() {
                        self.handle_marked_request();
                    }
                    self.responder.handle(&packet)
                }
                Body::Acknowledge(aeth) => {
                    let is_taken = self.requester.handle(now, packet.bth.psn, &aeth);
                    if is_taken && route.is_marked() {
                        self.stats.acks_marked += 1;
                        self.stats.cuts += u64::from(self.reaction.handle_marked_ack(now));
                    }
                    Placement::Nothing
                }
                Body::Cnp => {
                    self.stats.cnp_received += 1;
                    self.stats.cuts += u64::from(self.reaction.handle_notification(now));
                    Placement::Nothing
                }
            };
            self.follow_failure();
            return placement;
        };
        *counter += 1;
        Placement::Nothing
    }

    /// Acts on passed timers.
    pub fn handle_timeout(&mut self, now: Nanos) {
        if self.state.takes_responses() {
            self.requester.handle_timeout(now);
            self.follow_failure();
        }
    }

    /// The next packet to send, if one may leave at `now`. A congestion notification comes first,
    /// then an acknowledgement, both at any rate.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        if self.state.takes_requests()
            && self.notification.as_mut().is_some_and(|point| point.poll(now))
        {
            self.stats.cnp_sent += 1;
            return Some(Transmit::cnp(self.peer.number));
        }
        if let Some(response) = self.responder.poll_transmit() {
            return Some(Transmit::response(self.peer.number, &response));
        }
        if self.state != State::ReadyToSend || !self.reaction.is_ready(now) {
            return None;
        }
        let request = self.requester.poll_transmit(now)?;
        self.reaction.handle_departure(now, &request);
        Some(Transmit::request(self.peer.number, &request))
    }

    /// When to call [`QueuePair::handle_timeout`] and [`QueuePair::poll_transmit`] again at the
    /// latest.
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let has_packet = self.state == State::ReadyToSend && self.requester.has_packet();
        let ready_at = self.reaction.ready_at().filter(|_| has_packet);
        let notification = self.notification.filter(|_| self.state.takes_requests());
        let notifies_at = notification.and_then(|point| point.poll_timeout());
        [self.requester.poll_timeout(), ready_at, notifies_at].into_iter().flatten().min()
    }

    /// The next request that is done. Each half reports in posting order.
    pub fn poll_event(&mut self) -> Option<Event> {
        let received = self.responder.poll_event().map(Event::Received);
        received.or_else(|| self.requester.poll_event().map(Event::Sent))
    }

    const fn handle_marked_request(&mut self) {
        self.stats.requests_marked += 1;
        if let Some(point) = &mut self.notification {
            point.handle_mark();
        }
    }

    /// The counter of the reason to drop a packet (IB 9.6), if there is one.
    fn drop_cause(&mut self, packet: &Packet<'_>, route: &Route) -> Option<&mut u64> {
        let takes_it = match packet.body {
            Body::Request { .. } | Body::Unsupported => self.state.takes_requests(),
            Body::Acknowledge(_) | Body::Cnp => self.state.takes_responses(),
        };
        let is_from_peer = route.source_ip == self.peer.route.destination_ip
            && route.destination_ip == self.peer.route.source_ip;
        if packet.bth.destination != self.number {
            Some(&mut self.stats.other_number)
        } else if !takes_it {
            Some(&mut self.stats.wrong_state)
        } else if !is_from_peer {
            Some(&mut self.stats.other_address)
        } else if packet.bth.p_key != P_KEY_DEFAULT {
            Some(&mut self.stats.other_partition)
        } else {
            None
        }
    }

    /// To ERROR where a half has failed.
    fn follow_failure(&mut self) {
        let has_failed = self.requester.has_failed() || self.responder.fault().is_some();
        if has_failed && self.state != State::Error {
            self.fail().expect("a half fails in RTR or RTS");
        }
    }
}
