//! Parameters and messages of blocks while they run, under each scheduler.

mod schedulers;

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use samplewire_circuit::blocks::{Head, NullSource};
use samplewire_circuit::{
    Async, ByStage, Circuit, Context, Custom, Failure, Flow, Full, GraphBuilder, InPlace,
    MailSender, Mailbox, Output, Parameter, Polled, Ports, Quantum, Sequence, Sink, Source, Stream,
    Work,
};
use schedulers::under_each_scheduler;

/// Writes its parameter, and sends on the index of each sample at which it changed.
struct Write {
    value: Parameter<i32>,
    changes: MailSender<(u64, i32)>,
}

impl InPlace<i32> for Write {
    fn work(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let mut index = quantum.index();
        let changes = &self.changes;
        self.value.over(quantum, |value, samples| {
            // The mailbox keeps the last.
            changes.send((index, *value)).expect("it drops the oldest");
            samples.fill(*value);
            index += samples.len() as u64;
        });
        Ok(Flow::Pass)
    }
}

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<i32>>>);

/// Keeps the samples; its last message must be of a piece that came.
struct Keep {
    seen: Seen,
    changes: Mailbox<(u64, i32)>,
    last: Option<(u64, i32)>,
}

impl Sink<i32> for Keep {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        while let Some(change) = self.changes.next() {
            if self.last.is_some_and(|last| last.0 >= change.0) {
                return Err(format!("{change:?} behind {:?}", self.last).into());
            }
            self.last = Some(change);
        }
        self.seen.0.lock().unwrap().extend(quantum.samples());
        Ok(Flow::Pass)
    }
}

#[test]
fn parameter_changes_at_its_sample_and_messages_go_from_block_to_block() {
    under_each_scheduler(|run| {
        let (mut handle, value) = Parameter::new(0, 2);
        let (changes, mailbox) = Mailbox::new(2, Full::DropOldest);
        let seen = Seen::default();
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(3, 100).named("samples");
        let stream = graph.source("source", NullSource, circuit);
        let stream = graph.in_place("write", Write { value, changes: changes.clone() }, stream);
        let stream = graph.in_place("head", Head::new(20_000), stream);
        graph.sink("sink", Keep { seen: seen.clone(), changes: mailbox, last: None }, stream);
        let at = |value: i32| value as u64 * 250 + 7;
        (1..=2).for_each(|value| handle.set_at(at(value), value).unwrap());
        // Those behind are set while the graph runs: they may come late, but hold in their order.
        let setter = thread::spawn(move || {
            for value in 3..=50 {
                while handle.set_at(at(value), value).is_err() && !handle.is_closed() {
                    thread::yield_now();
                }
            }
        });
        run(graph.build().unwrap()).unwrap();
        setter.join().unwrap();
        let samples = seen.0.lock().unwrap();
        assert_eq!(samples.len(), 20_000);
        assert!(samples.is_sorted());
        for (index, &value) in samples.iter().enumerate() {
            let expected = (index.saturating_sub(7) / 250).min(50) as i32;
            assert!(value == expected || value < expected && index >= 757, "{index}: {value}");
        }
    });
}

/// Sends the sample of each message, and ends behind one below 0; asleep until one comes.
struct FromMessages(Mailbox<i32>);

impl Source<i32> for FromMessages {
    fn fill(&mut self, quantum: &mut Quantum<i32>) -> Work {
        let Some(sample) = self.0.next() else { return Ok(Flow::Sleep) };
        quantum.set_len(1);
        quantum.samples_mut()[0] = sample;
        Ok(if sample < 0 { Flow::End } else { Flow::Pass })
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.0.wakes(&context.waker);
        Ok(())
    }
}

/// The same with a port of its own.
struct FromMessagesByPort(Mailbox<i32>, Output<i32>);

impl Custom for FromMessagesByPort {
    fn work(&mut self, ports: &mut Ports) -> Result<Polled, Failure> {
        let Self(mailbox, output) = self;
        let Some(mut quantum) = ports.take(output) else { return Ok(Polled::Idle) };
        let Some(sample) = mailbox.next() else {
            ports.release(quantum);
            return Ok(if ports.is_draining() { Polled::Done } else { Polled::Asleep });
        };
        quantum.set_len(1);
        quantum.samples_mut()[0] = sample;
        ports.push(output, quantum)?;
        Ok(if sample < 0 { Polled::Done } else { Polled::Moved })
    }

    fn start(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.0.wakes(&context.waker);
        Ok(())
    }
}

/// Says what came.
struct Say(Sender<i32>);

impl Sink<i32> for Say {
    fn consume(&mut self, quantum: &Quantum<i32>) -> Work {
        quantum.samples().iter().try_for_each(|sample| self.0.send(*sample))?;
        Ok(Flow::Pass)
    }
}

#[test]
fn message_wakes_a_block_that_sleeps() {
    each_message_arrives(|graph, mailbox, circuit| {
        graph.source("messages", FromMessages(mailbox), circuit)
    });
}

#[test]
fn message_wakes_a_custom_block_that_sleeps() {
    each_message_arrives(|graph, mailbox, circuit| {
        graph.custom("messages", |ports| {
            let (output, stream) = ports.output(circuit);
            (FromMessagesByPort(mailbox, output), stream)
        })
    });
}

fn each_message_arrives(
    add_block: impl Fn(&mut GraphBuilder, Mailbox<i32>, Circuit<i32>) -> Stream<i32>,
) {
    // As a future, only a wake polls the block again. Under the others a lost wake costs a second.
    for scheduler in ["async", "stage", "sequence"] {
        let (sender, mailbox) = Mailbox::new(1, Full::Refuse);
        let (said, heard) = mpsc::channel();
        let mut graph = GraphBuilder::new();
        let circuit = Circuit::new(2, 1).named("samples");
        let stream = add_block(&mut graph, mailbox, circuit);
        graph.sink("say", Say(said), stream);
        let graph = graph.build().unwrap();
        thread::scope(|scope| {
            let run = scope.spawn(|| match scheduler {
                "async" => graph.run(Async::new(1)),
                "stage" => {
                    let stage = ByStage::even(&graph, 2);
                    graph.run(stage)
                }
                _ => graph.run(Sequence::new()),
            });
            let count = if cfg!(miri) { 3 } else { 1_000 };
            for message in (0..count).chain([-1]) {
                sender.send(message).unwrap();
                let came = heard.recv_timeout(Duration::from_secs(60));
                assert_eq!(came, Ok(message), "{scheduler}: a wake was lost");
            }
            let calls = run.join().unwrap().unwrap().block("messages").unwrap().counters.calls;
            let calls_max = 10 * (count as u64 + 2);
            assert!(
                scheduler != "async" || calls < calls_max,
                "{calls} calls: the sleeping block was polled"
            );
        });
    }
}
