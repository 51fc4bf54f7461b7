//! Ports: how a block with streams of its author's choosing gets quanta and passes them on.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::block::{Context, Failure};
use crate::channel::{Arrival, Give, Outlet, Take};
use crate::graph::Survey;
use crate::group::Polled;
use crate::pool::Pool;
use crate::quantum::{Quantum, SharedQuantum};
use crate::sample::Sample;
use crate::task::{Reading, Way};

/// A block with ports of its author's choosing, for what no other kind of block does: made by
/// [`GraphBuilder::custom`](crate::GraphBuilder::custom).
///
/// ```
/// use samplewire_circuit::{Custom, Failure, Input, Output, Polled, Ports};
///
/// /// One quantum to the one side, the next to the other.
/// struct Alternate {
///     input: Input<f32>,
///     outputs: [Output<f32>; 2],
/// }
///
/// impl Custom for Alternate {
///     fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure> {
///         let Some(quantum) = ports.pop(&self.input) else {
///             return Ok(if ports.is_ended(&self.input) { Polled::Done } else { Polled::Idle });
///         };
///         ports.push(&self.outputs[0], quantum)?;
///         self.outputs.swap(0, 1);
///         Ok(Polled::Moved)
///     }
/// }
/// ```
pub trait Custom: Send {
    /// Moves what can be moved now, a few quanta at most, and returns the outcome. After
    /// [`Polled::Done`] its outputs end, and nothing may be left in its inputs. Return
    /// [`Polled::Idle`] without input or a free quantum. Return [`Polled::Asleep`] to wait until
    /// its [`Waker`](crate::Context::waker) is woken, or quanta come.
    ///
    /// # Errors
    /// Any error: the graph stops and reports it with the block's name.
    fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure>;

    /// See [`Source::start`](crate::Source::start).
    ///
    /// # Errors
    /// As for the work.
    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let _ = context;
        Ok(())
    }

    /// See [`Source::stop`](crate::Source::stop). What it holds is dropped here; a quantum that is
    /// still held behind it is an error of the graph.
    ///
    /// # Errors
    /// As for the work.
    fn stop(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A stream that a [`Custom`] block gets, to work on in place or to pass on.
#[derive(Debug)]
pub struct Input<T> {
    pub(crate) port: usize,
    pub(crate) samples: PhantomData<fn() -> T>,
}

/// A stream that a [`Custom`] block and others read.
#[derive(Debug)]
pub struct SharedInput<T> {
    pub(crate) port: usize,
    pub(crate) samples: PhantomData<fn() -> T>,
}

/// A stream that leaves a [`Custom`] block.
#[derive(Debug)]
pub struct Output<T> {
    pub(crate) port: usize,
    pub(crate) samples: PhantomData<fn(T)>,
}

/// The ports of one [`Custom`] block, while its graph runs.
pub struct Ports {
    inputs: Vec<InputPort>,
    outputs: Vec<OutputPort>,
    /// The way home of all their quanta.
    give: Give,
    account: Arc<Account>,
    /// Samples that came since they were last counted.
    samples: u64,
    pub(crate) is_draining: bool,
}

struct InputPort {
    way: Way,
    is_ended: bool,
}

pub(crate) struct OutputPort {
    pub(crate) outlet: Outlet<Quantum>,
    /// Of the circuit that is its own.
    pub(crate) take: Option<Take>,
    /// Places in the account of the circuits whose quanta may leave here.
    pub(crate) circuits: Vec<usize>,
}

impl Ports {
    pub(crate) fn new(
        inputs: Vec<Way>,
        outputs: Vec<OutputPort>,
        give: Give,
        account: Arc<Account>,
    ) -> Self {
        let inputs = inputs.into_iter().map(|way| InputPort { way, is_ended: false }).collect();
        Self { inputs, outputs, give, account, samples: 0, is_draining: false }
    }

    /// The next quantum of a stream; `None` when none is there.
    pub fn pop<T: Sample>(&mut self, input: &Input<T>) -> Option<Held<Quantum<T>>> {
        match self.pop_any(input.port)? {
            Reading::Owned(quantum) => Some(self.held(quantum.retyped())),
            Reading::Shared(_) => unreachable!("a stream of its own"),
        }
    }

    /// The next quantum of a stream that others read too; `None` when none is there.
    pub fn read<T: Sample>(&mut self, input: &SharedInput<T>) -> Option<Held<SharedQuantum<T>>> {
        match self.pop_any(input.port)? {
            Reading::Shared(quantum) => Some(self.held(quantum.retyped())),
            Reading::Owned(_) => unreachable!("a stream of several readers"),
        }
    }

    /// Whether nothing will come any more, and nothing is left.
    pub fn is_ended<T>(&self, input: &Input<T>) -> bool {
        self.inputs[input.port].is_ended
    }

    /// See [`Ports::is_ended`].
    pub fn is_shared_ended<T>(&self, input: &SharedInput<T>) -> bool {
        self.inputs[input.port].is_ended
    }

    /// An empty quantum of the output's own circuit; `None` when none is free.
    ///
    /// # Panics
    /// When the output has none: it passes on an input's quanta.
    pub fn take<T: Sample>(&mut self, output: &Output<T>) -> Option<Held<Quantum<T>>> {
        let take = self.outputs[output.port].take.as_mut();
        let quantum = take.expect("an output with a circuit of its own").take()?;
        Some(self.held(quantum.retyped()))
    }

    /// Passes a quantum on; an empty one returns to its pool.
    ///
    /// # Errors
    /// [`WrongCircuit`] when the output is not for quanta of its circuit: it returns to its pool.
    pub fn push<T: Sample>(
        &mut self,
        output: &Output<T>,
        held: Held<Quantum<T>>,
    ) -> Result<(), WrongCircuit> {
        let quantum = held.let_go();
        let OutputPort { outlet, circuits, .. } = &mut self.outputs[output.port];
        let names = &self.account.circuits;
        if !circuits.iter().any(|&circuit| names[circuit].0.owns(&quantum)) {
            let error = WrongCircuit {
                pushed: self.account.circuit_of(&quantum),
                output: names[circuits[0]].1.clone(),
            };
            self.give.give(quantum.retyped());
            return Err(error);
        }
        if quantum.is_empty() {
            self.give.give(quantum.retyped());
        } else {
            outlet.push(quantum.retyped());
        }
        Ok(())
    }

    /// Sends a quantum home; one that is shared, once the last has read it.
    pub fn release<Q: Handle>(&mut self, held: Held<Q>) {
        if let Some(quantum) = held.let_go().into_last() {
            self.give.give(quantum);
        }
    }

    /// Whether the reader of the output's stream takes no more of it.
    pub fn is_closed<T>(&self, output: &Output<T>) -> bool {
        self.outputs[output.port].outlet.is_closed()
    }

    /// Whether the graph ends once all quanta that are under way have gone through. A block that
    /// makes samples stops now.
    pub fn is_draining(&self) -> bool {
        self.is_draining
    }

    fn pop_any(&mut self, port: usize) -> Option<Reading> {
        let InputPort { way, is_ended } = &mut self.inputs[port];
        match way.pop() {
            Arrival::Next(reading) => Some(reading),
            Arrival::Empty => None,
            Arrival::Ended => {
                *is_ended = true;
                None
            }
        }
    }

    fn held<Q: Handle>(&mut self, quantum: Q) -> Held<Q> {
        self.samples += quantum.samples();
        // Relaxed, as all of an account: counts, which are read when the block has returned.
        self.account.held.fetch_add(1, Ordering::Relaxed);
        Held { quantum: Some(quantum), account: Arc::clone(&self.account) }
    }

    /// Samples that came since this was last called.
    pub(crate) fn count(&mut self) -> u64 {
        std::mem::take(&mut self.samples)
    }

    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Reports where everything is, except the quanta that the block holds.
    pub(crate) fn survey(&mut self, node: usize, survey: &mut Survey<'_>) {
        for (number, input) in self.inputs.iter_mut().enumerate() {
            input.way.survey(node, number, survey);
        }
        self.outputs.iter_mut().filter_map(|output| output.take.as_mut()).for_each(|take| {
            survey.home(take);
        });
    }

    /// Whether every reader of the outputs has closed its stream.
    pub(crate) fn are_closed(&self) -> bool {
        !self.outputs.is_empty() && self.outputs.iter().all(|output| output.outlet.is_closed())
    }

    /// No quantum will be passed on any more, and none is wanted.
    pub(crate) fn end(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.way.close());
        self.outputs.iter_mut().for_each(|output| output.outlet.end());
    }

    /// Sends home one quantum that came after the end: whether one did, `None` when none can any
    /// more.
    pub(crate) fn clear(&mut self) -> Option<bool> {
        let mut result = None;
        for port in 0..self.inputs.len() {
            if let Some(reading) = self.pop_any(port) {
                if let Some(quantum) = reading.into_last() {
                    self.give.give(quantum);
                }
                return Some(true);
            }
            if !self.inputs[port].is_ended {
                result = Some(false);
            }
        }
        result
    }
}

impl std::fmt::Debug for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (inputs, outputs) = (self.inputs.len(), self.outputs.len());
        f.debug_struct("Ports").field("inputs", &inputs).field("outputs", &outputs).finish()
    }
}

/// A quantum that a [`Custom`] block holds: to be [pushed](Ports::push) or
/// [released](Ports::release). Dropping it stops the graph with an error that names the block.
#[derive(Debug)]
pub struct Held<Q: Handle> {
    /// There until it is let go.
    quantum: Option<Q>,
    account: Arc<Account>,
}

impl<Q: Handle> Held<Q> {
    fn let_go(mut self) -> Q {
        self.account.held.fetch_sub(1, Ordering::Relaxed);
        self.quantum.take().expect("it is let go once")
    }
}

impl<Q: Handle> Deref for Held<Q> {
    type Target = Q;
    fn deref(&self) -> &Q {
        self.quantum.as_ref().expect("it is let go with the guard")
    }
}

impl<Q: Handle> DerefMut for Held<Q> {
    fn deref_mut(&mut self) -> &mut Q {
        self.quantum.as_mut().expect("it is let go with the guard")
    }
}

impl<Q: Handle> Drop for Held<Q> {
    fn drop(&mut self) {
        if let Some(quantum) = self.quantum.take() {
            self.account.held.fetch_sub(1, Ordering::Relaxed);
            self.account.drop_one(quantum);
        }
    }
}

/// A [`Quantum`] or a [`SharedQuantum`].
pub trait Handle: sealed::Handle {}

impl<T: Sample> Handle for Quantum<T> {}
impl<T: Sample> Handle for SharedQuantum<T> {}

mod sealed {
    use super::{Quantum, Reading, Sample, SharedQuantum};

    pub trait Handle {
        /// How many samples there are.
        fn samples(&self) -> u64;
        /// The quantum itself, when this was the last handle.
        fn into_last(self) -> Option<Quantum>;
        /// The same without its type.
        fn bytes(&self) -> &Quantum;
    }

    impl<T: Sample> Handle for Quantum<T> {
        fn samples(&self) -> u64 {
            self.len() as u64
        }

        fn into_last(self) -> Option<Quantum> {
            Some(self.retyped())
        }

        fn bytes(&self) -> &Quantum {
            self.retyped_ref()
        }
    }

    impl<T: Sample> Handle for SharedQuantum<T> {
        fn samples(&self) -> u64 {
            self.len() as u64
        }

        fn into_last(self) -> Option<Quantum> {
            Some(self.reunite()?.retyped())
        }

        fn bytes(&self) -> &Quantum {
            self.retyped_ref()
        }
    }

    impl Reading {
        pub(crate) fn into_last(self) -> Option<Quantum> {
            match self {
                Self::Owned(quantum) => Some(quantum),
                Self::Shared(quantum) => quantum.reunite(),
            }
        }
    }
}

/// What a [`Custom`] block holds and has dropped.
#[derive(Debug)]
pub(crate) struct Account {
    /// All circuits whose quanta it may hold.
    pub(crate) circuits: Vec<(Pool, Arc<str>)>,
    held: AtomicUsize,
    /// The place of a circuit of which a quantum was dropped, and 1; 0 when none was.
    dropped: AtomicUsize,
    /// It may drop what it holds.
    pub(crate) is_over: AtomicBool,
}

impl Account {
    pub(crate) fn new(circuits: Vec<(Pool, Arc<str>)>) -> Self {
        let (held, dropped) = Default::default();
        Self { circuits, held, dropped, is_over: AtomicBool::new(false) }
    }

    /// How many quanta it holds.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// The circuit of which a quantum was dropped.
    pub(crate) fn dropped(&self) -> Option<&Arc<str>> {
        let place = self.dropped.load(Ordering::Relaxed).checked_sub(1)?;
        Some(&self.circuits[place].1)
    }

    fn drop_one(&self, quantum: impl Handle) {
        let place = self.place_of(quantum.bytes());
        // To its pool, from which the circuit takes it again.
        drop(quantum);
        if !self.is_over.load(Ordering::Relaxed) {
            self.dropped.store(place + 1, Ordering::Relaxed);
        }
    }

    fn place_of<T>(&self, quantum: &Quantum<T>) -> usize {
        let place = self.circuits.iter().position(|(pool, _)| pool.owns(quantum));
        place.expect("a block's quanta are of its circuits")
    }

    fn circuit_of<T>(&self, quantum: &Quantum<T>) -> Arc<str> {
        self.circuits[self.place_of(quantum)].1.clone()
    }
}

/// A quantum was pushed to an output for those of another circuit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pushed a quantum of circuit '{pushed}' to an output for those of '{output}'")]
pub struct WrongCircuit {
    /// The quantum's circuit.
    pub pushed: Arc<str>,
    /// The output's.
    pub output: Arc<str>,
}
