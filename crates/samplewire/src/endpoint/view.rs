//! A read-only view of an endpoint's streams for the simulator.

use samplewire_proto::Tag;
use samplewire_proto::receiver::{Receiver, RecvSlot};
use samplewire_proto::sender::{SendSlot, Sender};
use samplewire_proto::session::Opener;

use super::{Endpoint, Entry, Opened, Side};

/// A stream's machine, the place of the stream and its tags.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The place in the endpoint's table; for a listening end, the number of the stream.
    pub place: usize,
    /// The tag of packets to this end.
    pub tag: Tag,
    /// The tag of packets to the peer, if this end opened the stream.
    pub peer_tag: Option<Tag>,
    /// Whether it is over: its program takes the rest, or only repeated CLOSEs are still answered.
    pub is_lingering: bool,
    /// What runs the stream.
    pub machine: Machine<'a>,
}

/// A machine of the protocol.
#[derive(Clone, Copy)]
pub enum Machine<'a> {
    /// The stream is being opened.
    Opening(&'a Opener),
    /// The stream is received.
    Receiving(&'a Receiver<Box<[RecvSlot]>>),
    /// The stream goes out.
    Sending(&'a Sender<Box<[SendSlot]>>),
}

impl Endpoint {
    /// All streams. A played stream that is over may share its place with the next one.
    pub(crate) fn views(&self) -> impl Iterator<Item = View<'_>> {
        (0..self.streams.len()).flat_map(|place| self.views_at(place))
    }

    /// The streams at one place.
    pub(crate) fn views_at(&self, place: usize) -> impl Iterator<Item = View<'_>> {
        let view =
            move |tag, machine| View { place, tag, peer_tag: None, is_lingering: false, machine };
        let mut played = None;
        let one = match self.streams.get(place) {
            Some(Entry::Opening(opening)) => {
                let opener = opening.opener();
                opener.map(|opener| view(opener.tag(), Machine::Opening(opener)))
            }
            Some(Entry::Receiving(stream)) => {
                let Opened { tag, peer_tag, .. } = stream.opened;
                let machine = Machine::Receiving(&stream.flow.receiver);
                Some(View { peer_tag: Some(peer_tag), ..view(tag, machine) })
            }
            Some(Entry::Sending(stream)) => {
                let peer_tag = match stream.side {
                    Side::Opener(opened) => Some(opened.peer_tag),
                    Side::Listener(_) => None,
                };
                let machine = stream.flow.machine();
                let sending =
                    |(tag, sender)| View { peer_tag, ..view(tag, Machine::Sending(sender)) };
                machine.map(sending)
            }
            Some(Entry::Playing(stream)) => {
                let open = stream.open_tag();
                played = Some(stream.machines().map(move |(tag, machine)| View {
                    is_lingering: open != Some(tag),
                    ..view(tag, machine)
                }));
                None
            }
            Some(Entry::Free | Entry::Accepted { .. }) | None => None,
        };
        one.into_iter().chain(played.into_iter().flatten())
    }
}
