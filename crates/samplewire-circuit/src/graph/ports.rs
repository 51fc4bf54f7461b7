//! The ports of a custom block while its graph is being built.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::graph::builder::GraphBuilder;
use crate::graph::circuit::Circuit;
use crate::graph::node::{Edge, Kind};
use crate::graph::stream::{Readable, SharedStream, Stream};
use crate::ports::{Custom, Input, Output, SharedInput};
use crate::sample::Sample;

/// Makes the ports of a [`Custom`] block: see [`GraphBuilder::custom`].
pub struct PortsBuilder<'a> {
    graph: &'a mut GraphBuilder,
    node: usize,
}

impl PortsBuilder<'_> {
    /// A stream that the block may change and pass on.
    pub fn input<T: Sample>(&mut self, stream: Stream<T>) -> Input<T> {
        Input { port: self.connect(Readable::Own(stream)), samples: PhantomData }
    }

    /// A stream that the block reads, as others do.
    pub fn shared_input<T: Sample>(&mut self, stream: SharedStream<T>) -> SharedInput<T> {
        SharedInput { port: self.connect(Readable::Shared(stream)), samples: PhantomData }
    }

    /// A stream of quanta that the block [takes](crate::Ports::take) of a circuit.
    pub fn output<T: Sample>(&mut self, circuit: Circuit<T>) -> (Output<T>, Stream<T>) {
        let stream = self.graph.take(self.node, circuit);
        let circuit = self.graph.nodes[self.node].takes.take();
        (self.port(circuit), stream)
    }

    /// A stream of quanta that come by an input.
    pub fn pass<T: Sample>(&mut self, input: &Input<T>) -> (Output<T>, Stream<T>) {
        let come = self.graph.nodes[self.node].inputs.get(input.port).copied();
        let circuits = come.map(|edge| {
            let Edge { circuit, guests, .. } = &self.graph.edges[edge];
            (*circuit, guests.clone())
        });
        let (circuit, guests) = circuits.unwrap_or((usize::MAX, Vec::new()));
        let stream = self.graph.output(self.node, circuit, false);
        self.graph.edges[stream.edge].guests = guests;
        (self.port(None), stream)
    }

    fn connect<T>(&mut self, stream: Readable<T>) -> usize {
        self.graph.read(stream, self.node);
        // One that is foreign is the graph's error, and no port.
        self.graph.nodes[self.node].inputs.len().saturating_sub(1)
    }

    fn port<T>(&mut self, circuit: Option<usize>) -> Output<T> {
        let Kind::Custom { takes, .. } = &mut self.graph.nodes[self.node].kind else {
            unreachable!("made so");
        };
        takes.push(circuit);
        Output { port: takes.len() - 1, samples: PhantomData }
    }
}

impl std::fmt::Debug for PortsBuilder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortsBuilder").field("node", &self.node).finish_non_exhaustive()
    }
}

impl GraphBuilder {
    /// A block with ports of its author's choosing: `make` makes them, and the block, and gives back
    /// what is wanted of the streams that leave it.
    ///
    /// ```
    /// use samplewire_circuit::blocks::{Head, NullSink, NullSource};
    /// use samplewire_circuit::{
    ///     Circuit, Custom, Failure, GraphBuilder, Input, Output, Polled, Ports, Sequence,
    /// };
    ///
    /// /// Passes every second quantum.
    /// struct Half {
    ///     input: Input<f32>,
    ///     output: Output<f32>,
    ///     is_passed: bool,
    /// }
    ///
    /// impl Custom for Half {
    ///     fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure> {
    ///         let Some(quantum) = ports.pop(&self.input) else {
    ///             return Ok(if ports.is_ended(&self.input) { Polled::Done } else { Polled::Idle });
    ///         };
    ///         self.is_passed = !self.is_passed;
    ///         if self.is_passed {
    ///             ports.push(&self.output, quantum)?;
    ///         } else {
    ///             ports.release(quantum);
    ///         }
    ///         Ok(Polled::Moved)
    ///     }
    /// }
    ///
    /// let mut graph = GraphBuilder::new();
    /// let stream = graph.source("source", NullSource, Circuit::new(4, 100));
    /// let stream = graph.in_place("head", Head::new(10_000), stream);
    /// let stream = graph.custom("half", |ports| {
    ///     let input = ports.input(stream);
    ///     let (output, stream) = ports.pass(&input);
    ///     (Half { input, output, is_passed: false }, stream)
    /// });
    /// graph.sink("sink", NullSink, stream);
    /// let report = graph.build()?.run(Sequence::new())?;
    /// assert_eq!(report.block("sink").unwrap().counters.samples, 5_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn custom<B: Custom + 'static, R>(
        &mut self,
        name: impl Into<Arc<str>>,
        make: impl FnOnce(&mut PortsBuilder<'_>) -> (B, R),
    ) -> R {
        let node = self.node::<u8>(name, Kind::Custom { block: None, takes: Vec::new() });
        let (made, result) = make(&mut PortsBuilder { graph: self, node });
        if let Kind::Custom { block, .. } = &mut self.nodes[node].kind {
            *block = Some(Box::new(made));
        }
        result
    }
}
