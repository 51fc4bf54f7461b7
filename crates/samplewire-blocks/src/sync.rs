//! Sync words: one quantum is one frame.

use samplewire_circuit::{Flow, InPlace, Quantum, Work};

use crate::kernels::SyncWord;

/// Puts a sync word before each frame, in the head margin.
#[derive(Clone, Copy, Debug)]
pub struct InsertSync {
    word: SyncWord,
}

impl InsertSync {
    /// This word.
    pub const fn new(word: SyncWord) -> Self {
        Self { word }
    }
}

impl InPlace<u8> for InsertSync {
    fn work(&mut self, quantum: &mut Quantum<u8>) -> Work {
        let len_bytes = self.word.len_bytes();
        let Some(room) = quantum.prepend(len_bytes) else {
            let words = format!("the head margin has no room for a sync word of {len_bytes} bytes");
            return Err(words.into());
        };
        self.word.write(room);
        Ok(Flow::Pass)
    }

    fn replicate(&self) -> Option<Self> {
        Some(*self)
    }
}
