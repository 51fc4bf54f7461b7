//! Mailboxes: messages to a block, from other blocks and from outside of the graph.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Waker;

use crossbeam_queue::ArrayQueue;

/// Where a block finds messages: at most so many wait, and a rule says what happens to more.
///
/// Neither side waits for the other, nor allocates for the mailbox; a message takes a lock for as long
/// as it takes to copy a handle. A block that has nothing to do before a message
/// comes has messages [wake](Mailbox::wakes) it.
///
/// ```
/// use samplewire_circuit::{Flow, Full, InPlace, Mailbox, Quantum, Work};
///
/// enum Command {
///     Gain(f32),
///     Mute,
/// }
///
/// struct Gain {
///     factor: f32,
///     commands: Mailbox<Command>,
/// }
///
/// impl InPlace<f32> for Gain {
///     fn work(&mut self, quantum: &mut Quantum<f32>) -> Work {
///         while let Some(command) = self.commands.next() {
///             self.factor = match command {
///                 Command::Gain(factor) => factor,
///                 Command::Mute => 0.0,
///             };
///         }
///         quantum.samples_mut().iter_mut().for_each(|sample| *sample *= self.factor);
///         Ok(Flow::Pass)
///     }
/// }
///
/// let (sender, commands) = Mailbox::new(2, Full::Refuse);
/// sender.send(Command::Gain(2.0))?;
/// sender.clone().send(Command::Mute)?;
/// let refused = sender.send(Command::Gain(3.0)).unwrap_err();
/// assert!(matches!(refused.message, Command::Gain(3.0)));
/// # let _block = Gain { factor: 1.0, commands };
/// # Ok::<(), samplewire_circuit::Refused<Command>>(())
/// ```
pub struct Mailbox<M> {
    shared: Arc<Shared<M>>,
}

/// Sends to a [`Mailbox`], from a block or any thread; clones send to the same.
pub struct MailSender<M> {
    shared: Arc<Shared<M>>,
}

/// What happens to a message that finds the mailbox full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It goes back to the sender: for commands of which none may be lost.
    Refuse,
    /// It takes the place of the one that waits longest: for states, of which the last counts.
    DropOldest,
    /// It is dropped: for events, of which the first count.
    DropNewest,
}

struct Shared<M> {
    waiting: ArrayQueue<M>,
    full: Full,
    dropped: AtomicU64,
    /// Written when the block starts.
    waker: RwLock<Option<Waker>>,
}

impl<M: Send> Mailbox<M> {
    /// A mailbox in which up to `depth` (at least 1) messages wait.
    pub fn new(depth: usize, full: Full) -> (MailSender<M>, Self) {
        let waiting = ArrayQueue::new(depth.max(1));
        let shared = Arc::new(Shared {
            waiting,
            full,
            dropped: AtomicU64::new(0),
            waker: RwLock::new(None),
        });
        (MailSender { shared: Arc::clone(&shared) }, Self { shared })
    }

    /// The message that waits longest; `None` when none does.
    #[expect(clippy::should_implement_trait, reason = "an end of this iterator would not be one")]
    pub fn next(&mut self) -> Option<M> {
        self.shared.waiting.pop()
    }

    /// Makes each message from now on wake `waker`, the block's own. Call it in the block's start,
    /// if the block returns [`Flow::Sleep`](crate::Flow::Sleep) when no message waits. For each
    /// message the sender checks whether the block sleeps; the block pays nothing.
    ///
    /// ```
    /// use samplewire_circuit::{Context, Failure, Flow, Mailbox, Quantum, Source, Work};
    ///
    /// /// Sends the sample of each message.
    /// struct FromMessages(Mailbox<i16>);
    ///
    /// impl Source<i16> for FromMessages {
    ///     fn fill(&mut self, quantum: &mut Quantum<i16>) -> Work {
    ///         let Some(sample) = self.0.next() else { return Ok(Flow::Sleep) };
    ///         quantum.set_len(1);
    ///         quantum.samples_mut()[0] = sample;
    ///         Ok(Flow::Pass)
    ///     }
    ///
    ///     fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
    ///         self.0.wakes(&context.waker);
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn wakes(&self, waker: &Waker) {
        let mut own = self.shared.waker.write().unwrap_or_else(PoisonError::into_inner);
        *own = Some(waker.clone());
    }

    /// How many messages were dropped, or refused, since it was made.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped()
    }
}

impl<M: Send> MailSender<M> {
    /// Sends a message.
    ///
    /// # Errors
    /// [`Refused`] with the message when the mailbox is full and of [`Full::Refuse`].
    pub fn send(&self, message: M) -> Result<(), Refused<M>> {
        let Shared { waiting, full, dropped, waker } = &*self.shared;
        let over = match full {
            Full::DropOldest => waiting.force_push(message),
            Full::Refuse | Full::DropNewest => waiting.push(message).err(),
        };
        if over.is_none() || *full == Full::DropOldest {
            let waker = waker.read().unwrap_or_else(PoisonError::into_inner);
            waker.iter().for_each(Waker::wake_by_ref);
        }
        let Some(over) = over else { return Ok(()) };
        // Relaxed: a count.
        dropped.fetch_add(1, Ordering::Relaxed);
        match full {
            Full::Refuse => Err(Refused { message: over, depth: waiting.capacity() }),
            Full::DropOldest | Full::DropNewest => Ok(()),
        }
    }

    /// See [`Mailbox::dropped`].
    pub fn dropped(&self) -> u64 {
        self.shared.dropped()
    }
}

impl<M> Shared<M> {
    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl<M> Clone for MailSender<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<M> fmt::Debug for Shared<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("waiting", &self.waiting.len())
            .field("full", &self.full)
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

impl<M> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

impl<M> fmt::Debug for MailSender<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}

/// A message found its [`Mailbox`] full.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{depth} messages wait already: send again later, or make the mailbox deeper")]
pub struct Refused<M> {
    /// The message.
    pub message: M,
    /// How many wait.
    pub depth: usize,
}

impl<M> fmt::Debug for Refused<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("depth", &self.depth).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn sent(full: Full) -> (Vec<u32>, u64, Vec<u32>) {
        let (sender, mut mailbox) = Mailbox::new(3, full);
        let refused = (0..5).filter_map(|message| sender.send(message).err());
        let refused = refused.map(|refused| refused.message).collect();
        let dropped = mailbox.dropped();
        (std::iter::from_fn(|| mailbox.next()).collect(), dropped, refused)
    }

    #[test]
    fn each_rule_keeps_and_counts_its_messages() {
        assert_eq!(sent(Full::Refuse), (vec![0, 1, 2], 2, vec![3, 4]));
        assert_eq!(sent(Full::DropOldest), (vec![2, 3, 4], 2, vec![]));
        assert_eq!(sent(Full::DropNewest), (vec![0, 1, 2], 2, vec![]));
    }

    #[test]
    fn refusal_names_the_depth() {
        let (sender, _mailbox) = Mailbox::new(1, Full::Refuse);
        sender.send(0).unwrap();
        let text = "1 messages wait already: send again later, or make the mailbox deeper";
        assert_eq!(sender.send(1).unwrap_err().to_string(), text);
    }

    #[test]
    fn messages_of_several_threads_arrive_once_and_each_threads_in_order() {
        let count = if cfg!(miri) { 50 } else { 500 };
        let (sender, mut mailbox) = Mailbox::new(4, Full::Refuse);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for number in 0..count {
                        while sender.send((thread, number)).is_err() {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut next = [0; 2];
            while next != [count; 2] {
                match mailbox.next() {
                    Some((thread, number)) => {
                        assert_eq!(number, next[thread]);
                        next[thread] += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
