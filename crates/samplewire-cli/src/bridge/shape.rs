//! Converts samples of a stream to those of ZeroMQ sockets, and back.
//!
//! A stream has interleaved channels. A single socket carries them as they are. With several
//! sockets, each carries one channel.

use samplewire::format::{Format, convert};

/// The formats on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Samples of the stream.
    pub(crate) stream: Format,
    /// Channels of the stream.
    pub(crate) channels: u16,
    /// Samples of the sockets.
    pub(crate) zmq: Format,
    /// Sockets: 1, or as many as channels.
    pub(crate) sockets: usize,
}

impl Shape {
    /// Bytes of all channels at one index in the stream.
    pub(super) fn frame_bytes(&self) -> usize {
        self.stream.sample_bytes() * usize::from(self.channels)
    }

    /// Bytes that a socket carries for one index.
    pub(crate) fn item_bytes(&self) -> usize {
        self.zmq.sample_bytes() * usize::from(self.channels) / self.sockets
    }

    /// A byte of a zero sample, at a socket.
    pub(crate) const fn zero(&self) -> u8 {
        if matches!(self.zmq, Format::Uc8) { UC8_ZERO } else { 0 }
    }

    /// Appends the part of `frames` that socket `at` carries to its message. `scratch` is a buffer
    /// of at least that size.
    pub(super) fn split(
        &self,
        frames: &[u8],
        at: usize,
        scratch: &mut Vec<u8>,
        message: &mut Vec<u8>,
    ) {
        if self.sockets == 1 {
            return self.append(frames, message);
        }
        let bytes = self.stream.sample_bytes();
        scratch.clear();
        for frame in frames.chunks_exact(self.frame_bytes()) {
            scratch.extend_from_slice(&frame[at * bytes..(at + 1) * bytes]);
        }
        self.append(scratch, message);
    }

    fn append(&self, samples: &[u8], message: &mut Vec<u8>) {
        if self.stream == self.zmq {
            return message.extend_from_slice(samples);
        }
        let start = message.len();
        let len = samples.len() / self.stream.sample_bytes() * self.zmq.sample_bytes();
        message.resize(start + len, 0);
        convert(self.stream, self.zmq, samples, &mut message[start..]).expect(FITS);
    }

    /// Writes `items` of socket `at` into their places in `frames`, for the same number of indexes.
    pub(super) fn join(&self, items: &[u8], at: usize, scratch: &mut Vec<u8>, frames: &mut [u8]) {
        if self.sockets == 1 {
            if self.stream == self.zmq {
                frames.copy_from_slice(items);
            } else {
                convert(self.zmq, self.stream, items, frames).expect(FITS);
            }
            return;
        }
        let bytes = self.stream.sample_bytes();
        scratch.resize(items.len() / self.zmq.sample_bytes() * bytes, 0);
        convert(self.zmq, self.stream, items, scratch).expect(FITS);
        let places = frames.chunks_exact_mut(self.frame_bytes());
        for (frame, sample) in places.zip(scratch.chunks_exact(bytes)) {
            frame[at * bytes..(at + 1) * bytes].copy_from_slice(sample);
        }
    }
}

const FITS: &str = "both are complex or both real, and there is room for all";

/// uc8 has no exact zero: 128 is one of its two middle values.
const UC8_ZERO: u8 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    /// Two channels at three indexes, as sc16.
    fn frames() -> Vec<u8> {
        (1..=12i16).flat_map(|value| (value * 256).to_le_bytes()).collect()
    }

    #[test]
    fn each_socket_carries_a_channel_and_they_come_together_again() {
        for zmq in [Format::Sc16, Format::Fc32, Format::Sc8] {
            let shape = Shape { stream: Format::Sc16, channels: 2, zmq, sockets: 2 };
            let (mut scratch, mut back) = (Vec::new(), vec![0; frames().len()]);
            for at in 0..2 {
                let mut message = Vec::new();
                shape.split(&frames(), at, &mut scratch, &mut message);
                assert_eq!(message.len(), 3 * shape.item_bytes());
                shape.join(&message, at, &mut scratch, &mut back);
            }
            assert_eq!(back, frames(), "{zmq}");
        }
    }

    #[test]
    fn one_socket_carries_all_channels_as_they_stand() {
        let shape = Shape { stream: Format::Sc16, channels: 2, zmq: Format::Fc32, sockets: 1 };
        let (mut message, mut back) = (Vec::new(), vec![0; frames().len()]);
        shape.split(&frames(), 0, &mut Vec::new(), &mut message);
        let second = message[4..8].try_into().unwrap();
        assert_eq!(f32::from_le_bytes(second), 2.0 / 128.0);
        shape.join(&message, 0, &mut Vec::new(), &mut back);
        assert_eq!((back, shape.item_bytes()), (frames(), 16));
    }
}
