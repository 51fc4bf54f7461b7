//! The results of a study.

use std::io::{self, Write};

use serde::Serialize;

use super::iperf3::Transport;
use crate::arguments::WindowArguments;

/// The settings of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Point {
    /// The largest IP packet in bytes.
    pub(super) mtu: u16,
    /// In packets.
    pub(super) window: u32,
    /// The share of DATA packets with changed bytes.
    pub(super) damage: f64,
}

/// The settings of a measurement with another program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Peer {
    /// The largest IP packet in bytes.
    pub(super) mtu: u16,
    pub(super) transport: Transport,
}

/// All measurements, in order.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) mtus: Vec<u16>,
    pub(super) windows: Vec<u32>,
    pub(super) damages: Vec<f64>,
    pub(super) rounds: u16,
    points: Vec<(Point, Vec<f64>)>,
    peers: Vec<(Peer, Vec<f64>)>,
}

impl Results {
    pub(super) fn new(arguments: &WindowArguments) -> Self {
        Self {
            mtus: arguments.mtu.clone(),
            windows: arguments.windows.clone(),
            damages: arguments.damage.clone(),
            rounds: arguments.rounds,
            points: Vec::new(),
            peers: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, point: Point, goodput_bps: f64) {
        add(&mut self.points, point, goodput_bps);
    }

    pub(super) fn take_peer(&mut self, peer: Peer, goodput_bps: f64) {
        add(&mut self.peers, peer, goodput_bps);
    }

    /// The median in bits per second.
    pub(super) fn median_bps(&self, point: &Point) -> Option<f64> {
        self.points.iter().find(|(known, _)| known == point).map(|(_, values)| median(values))
    }

    /// The other programs at this MTU, with their medians in bits per second.
    pub(super) fn peers_of(&self, mtu: u16) -> impl Iterator<Item = (Peer, f64)> {
        let of_mtu = self.peers.iter().filter(move |(peer, _)| peer.mtu == mtu);
        of_mtu.map(|(peer, values)| (*peer, median(values)))
    }

    /// Writes a line for each measurement.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "program,mtu_bytes,window_packets,damage,round,goodput_bps")?;
        for (Point { mtu, window, damage }, values) in &self.points {
            for (round, value) in values.iter().enumerate() {
                writeln!(out, "samplewire,{mtu},{window},{damage},{round},{value:.0}")?;
            }
        }
        for (Peer { mtu, transport }, values) in &self.peers {
            for (round, value) in values.iter().enumerate() {
                writeln!(out, "iperf3 {},{mtu},,,{round},{value:.0}", transport.name())?;
            }
        }
        Ok(())
    }

    /// The object of `--json`.
    pub(super) fn json(&self) -> impl Serialize {
        let points = self.points.iter().map(|(point, values)| Row {
            program: "samplewire".to_owned(),
            mtu_bytes: point.mtu,
            window_packets: Some(point.window),
            damage: Some(point.damage),
            median_bps: median(values),
            goodput_bps: values.clone(),
        });
        let peers = self.peers.iter().map(|(peer, values)| Row {
            program: format!("iperf3 {}", peer.transport.name()),
            mtu_bytes: peer.mtu,
            window_packets: None,
            damage: None,
            median_bps: median(values),
            goodput_bps: values.clone(),
        });
        Rows { rounds: self.rounds, rows: points.chain(peers).collect() }
    }
}

#[derive(Serialize)]
struct Rows {
    rounds: u16,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    program: String,
    mtu_bytes: u16,
    window_packets: Option<u32>,
    damage: Option<f64>,
    median_bps: f64,
    /// One value for each round.
    goodput_bps: Vec<f64>,
}

fn add<K: PartialEq>(list: &mut Vec<(K, Vec<f64>)>, key: K, value: f64) {
    match list.iter_mut().find(|(known, _)| *known == key) {
        Some((_, values)) => values.push(value),
        None => list.push((key, vec![value])),
    }
}

/// The median; for an even number, the mean of the two middle values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        len if len.is_multiple_of(2) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_one() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[7.0]), 7.0);
    }

    #[test]
    fn measurements_of_a_point_are_kept_together() {
        let (mtus, windows, damages) = (vec![1_500], vec![8], vec![0.0, 0.1]);
        let (points, peers) = (Vec::new(), Vec::new());
        let mut results = Results { mtus, windows, damages, rounds: 2, points, peers };
        let point = |damage| Point { mtu: 1_500, window: 8, damage };
        for (damage, goodput_bps) in [(0.0, 1e9), (0.1, 5e8), (0.0, 3e9), (0.1, 7e8)] {
            results.take(point(damage), goodput_bps);
        }
        let peer = Peer { mtu: 1_500, transport: Transport::Udp };
        results.take_peer(peer, 4e9);
        assert_eq!(results.median_bps(&point(0.0)), Some(2e9));
        assert_eq!(results.median_bps(&point(0.2)), None);
        assert_eq!(results.peers_of(1_500).collect::<Vec<_>>(), [(peer, 4e9)]);
        assert_eq!(results.peers_of(9_000).count(), 0);
        let mut csv = Vec::new();
        results.write_csv(&mut csv).unwrap();
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "program,mtu_bytes,window_packets,damage,round,goodput_bps\n\
             samplewire,1500,8,0,0,1000000000\nsamplewire,1500,8,0,1,3000000000\n\
             samplewire,1500,8,0.1,0,500000000\nsamplewire,1500,8,0.1,1,700000000\n\
             iperf3 UDP,1500,,,0,4000000000\n"
        );
    }
}
