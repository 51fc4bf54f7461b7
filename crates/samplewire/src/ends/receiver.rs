//! A stream from the wire into a circuit, without a copy.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Poll, Waker};

use futures_core::Stream;
use samplewire_circuit::{
    BorrowedSource, Chain, Context, Failure, Flow, Publisher, Quantum, SharedStream, Tag, Tags,
    Work, chain_borrowed,
};

use super::account::{Account, AccountHandle, Missing};
use crate::error::ReceiveError;
use crate::format::{FormError, FormSample, check_form};
use crate::published::publisher;
use crate::receiver::{Block, ReceiveStream};

/// Feeds the samples of a [`ReceiveStream`] to a circuit without a copy. Their credit returns to
/// the sender when the last block has read them.
///
/// A gap becomes tags of its causes ([`TagKind::Gap`](samplewire_circuit::TagKind::Gap),
/// [`TagKind::Overflow`](samplewire_circuit::TagKind::Overflow)) at the sample after it, and an
/// entry in the [account](ReceiverSource::account). The block sleeps while no samples come, and
/// ends with the stream. A graph that ends earlier closes the stream.
#[derive(Debug)]
pub struct ReceiverSource<T> {
    receiver: ReceiveStream,
    rate_hz: f64,
    waker: Waker,
    account: Account,
    publisher: Publisher<Account>,
    /// What is missing before the next sample.
    missing: Missing,
    /// Tags that came without samples.
    early: Tags,
    samples: PhantomData<fn() -> T>,
}

impl<T: FormSample> ReceiverSource<T> {
    /// Of the stream that `receiver` has opened, whose samples are to be `T`.
    ///
    /// # Errors
    /// [`FormError`]: the stream's format is another, or it has other channels.
    pub fn new(receiver: ReceiveStream) -> Result<Self, FormError> {
        check_form::<T>(&receiver.info().stream_info())?;
        let account = Account::from_index(receiver.info().first_index);
        Ok(Self {
            rate_hz: receiver.info().rate_hz(),
            receiver,
            waker: Waker::noop().clone(),
            account,
            publisher: publisher(&account),
            missing: Missing::default(),
            early: Tags::default(),
            samples: PhantomData,
        })
    }

    /// A chain that begins with it, as the block `receiver`.
    pub fn into_chain(self) -> Chain<T, SharedStream<T>> {
        chain_borrowed(self).named("receiver")
    }

    /// What is missing, and why.
    pub fn account(&self) -> AccountHandle {
        AccountHandle(self.publisher.reader())
    }

    /// The receiver, e.g. for a handle on its counters.
    pub const fn receiver(&self) -> &ReceiveStream {
        &self.receiver
    }

    /// Has `quantum` show the samples of `block`.
    fn show(&mut self, quantum: &mut Quantum<T>, block: Block) -> Result<(), Failure> {
        quantum.set_index(block.index());
        quantum.set_rate_hz(self.rate_hz);
        *quantum.tags_mut() = self.missing.take_tags(block.index());
        let early = std::mem::take(&mut self.early);
        for tag in early.iter().chain(block.tags()) {
            // What came without samples holds from the next one on.
            let tag = Tag { index: tag.index.max(block.index()), ..*tag };
            self.account.tags_lost += u64::from(quantum.push_tag(tag).is_err());
        }
        if let Some(loan) = block.into_loan() {
            quantum.borrow(loan)?;
        }
        Ok(())
    }

    /// Keeps tags for the next samples.
    fn keep(&mut self, tags: &[Tag]) {
        for &tag in tags {
            self.account.tags_lost += u64::from(self.early.push(tag).is_err());
        }
    }

    fn settle(&mut self) {
        let end = self.receiver.end().and_then(|end| end.as_ref().ok()).copied();
        self.account.missing_at_end = self.missing.samples();
        self.account.end = end;
        self.publisher.publish(&self.account);
    }
}

impl<T: FormSample> BorrowedSource<T> for ReceiverSource<T> {
    fn samples_max(&self) -> usize {
        self.receiver.block_samples_max()
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.waker = context.waker.clone();
        Ok(())
    }

    fn lend(&mut self, quantum: &mut Quantum<T>) -> Work {
        loop {
            let mut context = std::task::Context::from_waker(&self.waker);
            let block = match Pin::new(&mut self.receiver).poll_next(&mut context) {
                Poll::Pending => return Ok(Flow::Sleep),
                Poll::Ready(Some(Ok(block))) => block,
                // The account states how the stream ended.
                Poll::Ready(None | Some(Err(ReceiveError::Broken(_)))) => return Ok(Flow::End),
                Poll::Ready(Some(Err(error))) => return Err(error.to_string().into()),
            };
            for gap in block.gaps() {
                self.missing.add(gap);
                self.account.count(gap);
            }
            if !block.gaps().is_empty() {
                self.publisher.publish(&self.account);
            }
            if block.is_empty() {
                self.keep(block.tags());
                continue;
            }
            self.account.next_index = block.index() + block.len() as u64;
            self.show(quantum, block)?;
            return Ok(Flow::Pass);
        }
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.receiver.stop();
        self.settle();
        Ok(())
    }
}

impl ReceiveStream {
    /// A chain of blocks that begins with this stream, whose samples are to be `T`. For what is missing
    /// in it, make a [`ReceiverSource`] and its [account](ReceiverSource::account) first.
    ///
    /// # Errors
    /// [`FormError`]: the stream's format is another, or it has other channels.
    pub fn into_chain<T: FormSample>(self) -> Result<Chain<T, SharedStream<T>>, FormError> {
        Ok(ReceiverSource::new(self)?.into_chain())
    }
}
