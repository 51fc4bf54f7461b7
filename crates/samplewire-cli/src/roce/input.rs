//! What is sent: a file or standard input, read by a thread of its own, since a pipe may be silent for
//! long while the connection goes on.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};

use crate::failure::Failure;

/// The messages of a file.
pub(super) struct Input {
    name: String,
    /// Of a file; unknown for a pipe.
    pub(super) len_bytes: Option<u64>,
    messages: Receiver<io::Result<Vec<u8>>>,
    /// Buffers go round: read into, sent, given back.
    free: Sender<Vec<u8>>,
}

/// What there is to send.
pub(super) enum Next {
    Message(Vec<u8>),
    /// The file is slower than the link.
    Nothing,
    End,
}

impl Input {
    /// Begins to read a file, `-` for standard input, as messages of so many bytes; the last may be
    /// shorter.
    pub(super) fn open(path: &Path, message_bytes: u32) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let fail = Failure::of_file(path);
        let mut len_bytes = None;
        let reader: Box<dyn Read + Send> = if name == "-" {
            Box::new(io::stdin())
        } else {
            let file = File::open(path).map_err(fail)?;
            let metadata = file.metadata().map_err(fail)?;
            if metadata.is_dir() {
                return Err(fail(io::ErrorKind::IsADirectory.into()));
            }
            len_bytes = metadata.is_file().then_some(metadata.len());
            Box::new(file)
        };
        let (sender, messages) = sync_channel(BUFFERS);
        let (free, buffers) = channel();
        for _ in 0..BUFFERS {
            free.send(Vec::new()).expect("its receiver is here");
        }
        std::thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || read(reader, message_bytes.into(), &sender, &buffers))?;
        Ok(Self { name, len_bytes, messages, free })
    }

    pub(super) fn next(&mut self) -> Result<Next, Failure> {
        match self.messages.try_recv() {
            Ok(Ok(bytes)) => Ok(Next::Message(bytes)),
            Ok(Err(source)) => Err(Failure::File { path: self.name.clone(), source }),
            Err(TryRecvError::Empty) => Ok(Next::Nothing),
            Err(TryRecvError::Disconnected) => Ok(Next::End),
        }
    }

    /// Gives a buffer back to be read into.
    pub(super) fn give_back(&self, buffer: Vec<u8>) {
        // At the end of the file no one reads any more.
        drop(self.free.send(buffer));
    }
}

fn read(
    mut reader: Box<dyn Read + Send>,
    message_bytes: u64,
    messages: &SyncSender<io::Result<Vec<u8>>>,
    buffers: &Receiver<Vec<u8>>,
) {
    while let Ok(mut buffer) = buffers.recv() {
        buffer.clear();
        let read = reader.by_ref().take(message_bytes).read_to_end(&mut buffer);
        let is_last = read.as_ref().map_or(true, |len| (*len as u64) < message_bytes);
        let is_end = matches!(read, Ok(0));
        if !is_end && messages.send(read.map(|_| buffer)).is_err() || is_last {
            return;
        }
    }
}

/// Messages that are posted at a time, and some that are read meanwhile.
const BUFFERS: usize = 12;
