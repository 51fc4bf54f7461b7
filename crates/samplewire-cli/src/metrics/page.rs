//! The page, in the text format of Prometheus (exposition format 0.0.4).

use std::fmt::{self, Display, Write};

use samplewire_proto::{Cause, Latencies};
use samplewire_record::account::{Hop, Hops};
use samplewire_record::sigmf::RecordedCause;

use super::counters::{
    HOST, LISTENER, PLAYER, PORT, RECEIVER, RECEIVER_PORT, REPAIR_LATENCY, SENDER, SENDER_PORT,
};
use super::latency::Histogram;
use super::stream::{About, View};
use super::tables::{GAP_SAMPLES, Kind, LINK_DROPPED, PortFigures, RECORDING, SWITCH_PORT, Table};
use super::text::Quoted;

/// The page of a process that runs `verb` with these streams. `has_page`: `samplewire web` can show them.
pub(super) fn render(
    verb: &str,
    has_page: bool,
    views: &[(About, View)],
    ports: &[PortFigures],
) -> String {
    let mut page = Page(String::with_capacity(PAGE_BYTES));
    page.head("samplewire_info", "gauge", "This process");
    let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
    let verb = Quoted(verb);
    let labels = format!("pid=\"{pid}\",verb={verb},version=\"{version}\",page=\"{has_page}\"");
    page.sample("samplewire_info", &labels, 1);
    let labelled: Vec<(String, &View)> =
        views.iter().map(|(about, view)| (labels_of(about), view)).collect();
    page.streams(views);
    page.table(&labelled, &RECEIVER, |view| view.receiver.as_ref().map(|it| &it.stream));
    page.histogram(&labelled, &REPAIR_LATENCY, |view| view.receiver.as_ref().map(|it| &it.stream));
    page.causes(&labelled, RECEIVER.prefix, |view| {
        let samples = view.receiver.as_ref()?.stream.gap_samples;
        Some(Cause::ALL.map(RecordedCause::Stream).into_iter().zip(samples).collect())
    });
    page.table(&labelled, &RECEIVER_PORT, |view| view.receiver.as_ref());
    page.table(&labelled, &PORT, |view| view.receiver.as_ref().map(|it| &it.port));
    page.table(&labelled, &RECORDING, |view| view.recording.as_ref());
    page.causes(&labelled, RECORDING.prefix, |view| {
        let samples = *view.recording.as_ref()?.gap_samples();
        Some(RecordedCause::ALL.into_iter().zip(samples).collect())
    });
    page.hops(&labelled, RECEIVER.prefix, |view| {
        let samples = view.receiver.as_ref()?.stream.gap_samples;
        Some(Hops::of_causes(Cause::ALL.map(RecordedCause::Stream).into_iter().zip(samples)))
    });
    page.hops(&labelled, RECORDING.prefix, |view| Some(view.recording.as_ref()?.hops()));
    page.table(&labelled, &HOST, |view| view.host.as_ref());
    page.table(&labelled, &PLAYER, |view| view.player.as_ref());
    page.table(&labelled, &SENDER, |view| view.sender.as_ref().map(|it| &it.stream));
    page.table(&labelled, &SENDER_PORT, |view| view.sender.as_ref());
    page.table(&labelled, &LISTENER, |view| {
        view.sender.as_ref().filter(|_| view.is_listening).map(|it| &it.listen)
    });
    page.ports(ports);
    page.0
}

struct Page(String);

impl Page {
    /// Writes the descriptions of the streams.
    fn streams(&mut self, views: &[(About, View)]) {
        if views.is_empty() {
            return;
        }
        self.head("samplewire_stream_info", "gauge", "A stream, and the peer at its other end");
        for (about, view) in views {
            let peer = view.peer.map(|peer| peer.to_string()).unwrap_or_default();
            let labels = format!(
                "{},peer={},name={},format=\"{}\",channels=\"{}\"",
                labels_of(about),
                Quoted(&peer),
                Quoted(&about.info.name.to_string()),
                about.info.format,
                about.info.channels
            );
            self.sample("samplewire_stream_info", &labels, 1);
        }
        let name = "samplewire_stream_sample_rate_hertz";
        self.head(name, "gauge", "Sample rate; 0 when it is not known");
        for (about, _) in views {
            self.sample(name, &labels_of(about), about.info.rate_hz());
        }
        let name = "samplewire_stream_sample_bytes";
        self.head(name, "gauge", "Bytes of a sample of all channels");
        for (about, _) in views {
            self.sample(name, &labels_of(about), about.info.frame_bytes());
        }
        let name = "samplewire_stream_packet_samples";
        self.head(name, "gauge", "Samples of a full packet; 0 while that is not agreed");
        for (about, view) in views {
            self.sample(name, &labels_of(about), view.packet_samples);
        }
    }

    /// Writes counters of one kind, for the streams that have them.
    fn table<T>(
        &mut self,
        views: &[(String, &View)],
        table: &Table<T>,
        of: impl Fn(&View) -> Option<&T>,
    ) {
        let found: Vec<(&String, &T)> =
            views.iter().filter_map(|(labels, view)| Some((labels, of(view)?))).collect();
        if found.is_empty() {
            return;
        }
        for metric in table.metrics {
            self.head(metric.name, metric.kind.as_str(), metric.help);
            for (labels, counters) in &found {
                let value = (metric.value)(counters);
                match metric.kind {
                    Kind::Count | Kind::Level => self.sample(metric.name, labels, value),
                    Kind::Nanos | Kind::Duration => {
                        self.sample(metric.name, labels, Seconds(value))
                    }
                }
            }
        }
    }

    /// Writes a histogram, for the streams that have it: each bucket with those below it.
    fn histogram<T>(
        &mut self,
        views: &[(String, &View)],
        histogram: &Histogram<T>,
        of: impl Fn(&View) -> Option<&T>,
    ) {
        let name = histogram.name;
        let mut has_head = false;
        for (labels, view) in views {
            let Some(counters) = of(view) else { continue };
            if !std::mem::replace(&mut has_head, true) {
                self.head(name, "histogram", histogram.help);
            }
            let bucket_name = format!("{name}_bucket");
            let mut sum = 0;
            for (at, packets) in (histogram.latencies)(counters).counts().iter().enumerate() {
                sum += packets;
                let bound = Seconds(Latencies::bound_ns(at));
                self.sample(&bucket_name, &format!("{labels},le=\"{bound}\""), sum);
            }
            self.sample(&bucket_name, &format!("{labels},le=\"+Inf\""), sum);
            let sum_ns = (histogram.sum_ns)(counters);
            self.sample(&format!("{name}_sum"), labels, Seconds(sum_ns));
            self.sample(&format!("{name}_count"), labels, sum);
        }
    }

    /// Writes the ports of a switch.
    fn ports(&mut self, ports: &[PortFigures]) {
        if ports.is_empty() {
            return;
        }
        for metric in SWITCH_PORT.metrics {
            self.head(metric.name, metric.kind.as_str(), metric.help);
            for port in ports {
                self.sample(metric.name, &port_label(port), (metric.value)(port));
            }
        }
        let counted = ports.iter().filter_map(|port| Some((port, port.link_dropped?)));
        let mut counted = counted.peekable();
        if counted.peek().is_some() {
            let help = "Frames that the link dropped before the switch read them";
            self.head(LINK_DROPPED, Kind::Count.as_str(), help);
        }
        for (port, dropped) in counted {
            self.sample(LINK_DROPPED, &port_label(port), dropped);
        }
    }

    /// Writes missing samples by hop.
    fn hops(
        &mut self,
        views: &[(String, &View)],
        prefix: &str,
        of: impl Fn(&View) -> Option<Hops>,
    ) {
        let found: Vec<_> =
            views.iter().filter_map(|(labels, view)| Some((labels, of(view)?))).collect();
        if found.is_empty() {
            return;
        }
        let name = format!("{prefix}lost_samples_total");
        self.head(&name, "counter", "Samples missing, by where they were lost");
        for (labels, hops) in found {
            for hop in Hop::ALL {
                let labels = format!("{labels},hop=\"{}\"", hop.as_str());
                self.sample(&name, &labels, hops.of(hop));
            }
        }
    }

    /// Writes missing samples by cause.
    fn causes(
        &mut self,
        views: &[(String, &View)],
        prefix: &str,
        of: impl Fn(&View) -> Option<Vec<(RecordedCause, u64)>>,
    ) {
        let name = format!("{prefix}{GAP_SAMPLES}");
        let mut has_head = false;
        for (labels, view) in views {
            for (cause, samples) in of(view).unwrap_or_default() {
                if !std::mem::replace(&mut has_head, true) {
                    self.head(&name, "counter", "Samples in gaps, by cause");
                }
                let labels = format!("{labels},cause=\"{}\"", cause.key());
                self.sample(&name, &labels, samples);
            }
        }
    }

    /// Help texts are constants without backslashes or line ends.
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.write(format_args!("# HELP {name} {help}.\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        self.write(format_args!("{name}{{{labels}}} {value}\n"));
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("strings take all");
    }
}

fn labels_of(about: &About) -> String {
    let About { device, stream, direction, .. } = about;
    format!("device=\"{device}\",stream=\"{stream}\",direction=\"{}\"", direction.as_str())
}

fn port_label(port: &PortFigures) -> String {
    format!("port={}", Quoted(&port.name))
}

/// Nanoseconds, written in seconds with all their digits.
struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// Initial capacity, enough for one stream.
const PAGE_BYTES: usize = 24 << 10;
