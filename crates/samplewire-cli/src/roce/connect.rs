//! How a sender's connection begins and ends.

use samplewire_proto::Rng;
use samplewire_roce::requester::{AckTimeout, RequesterConfig};
use samplewire_roce::responder::ResponderConfig;
use samplewire_roce::{PathMtu, Psn};

use super::exchange::Exchange;
use super::line::{LastLine, Line, ParseError};
use super::station::Station;
use super::{RoceError, seed};
use crate::arguments::SenderOptions;
use crate::console::Console;
use crate::interrupt::Interrupt;

/// A connection that is ready to send.
pub(super) struct Connected {
    pub(super) exchange: Exchange,
    pub(super) peer: Line,
    /// The smaller path MTU of both ends.
    pub(super) mtu: PathMtu,
}

/// Exchanges the lines and makes the queue pair ready.
pub(super) fn connect(
    options: &SenderOptions,
    mtu: PathMtu,
    station: &mut Station,
    interrupt: &Interrupt,
    console: &mut Console,
) -> Result<Connected, RoceError> {
    let mut rng = Rng::new(seed());
    station.renew(options.station.qpn, &mut rng);
    station.is_ecn_capable = options.line_rate.is_some();
    let psn = Psn::new(options.station.psn.unwrap_or(rng.draw() as u32));
    let mine = Line {
        address: options.station.ip,
        qpn: station.qp.number().get(),
        psn: psn.get(),
        mtu: mtu.bytes(),
        rkey: 0,
        region_address: 0,
        region_bytes: 0,
    };
    let (exchange, address) = match (&options.to, &options.peer) {
        (Some(to), _) => (Exchange::connect(*to), to.to_string()),
        (None, Some(path)) => (Exchange::of_file(path), path.display().to_string()),
        (None, None) => unreachable!("clap requires one of them"),
    };
    let refused = |source| RoceError::Exchange { address: address.clone(), source };
    let mut exchange = exchange.map_err(refused)?;
    exchange.say(&mine).map_err(refused)?;
    exchange.show(&mine, console);
    let line = exchange.wait(interrupt, || station.idle()).map_err(RoceError::Line)?;
    let peer = Line::parse(&line).map_err(|error| RoceError::Line(error.into()))?;
    let mtu = peer.mtu_with(mtu);
    let way = station.find(&peer, mtu, interrupt).map_err(RoceError::Find)?;
    let responder = ResponderConfig { psn: peer.psn(), mtu, ..ResponderConfig::default() };
    station.qp.ready_to_receive(way, responder).expect("it is in INIT");
    let requester = RequesterConfig {
        psn,
        mtu,
        window: options.window,
        ack_every: ACK_EVERY.min(options.window),
        timeout: AckTimeout::new(options.timeout).expect("clap checks the range"),
        ..RequesterConfig::default()
    };
    station.qp.ready_to_send(requester).expect("clap checks the ranges");
    if let Some(bps) = options.line_rate {
        station.react(bps as u64, options.congested_acks_cut);
    }
    Ok(Connected { exchange, peer, mtu })
}

/// States that `bytes` are all, and hears that the peer has kept them. A peer whose line was in a file
/// has acknowledged them, and says no more.
pub(super) fn conclude(
    exchange: &mut Exchange,
    bytes: u64,
    station: &mut Station,
    interrupt: &Interrupt,
) -> Result<(), RoceError> {
    if !exchange.is_live() {
        return Ok(());
    }
    exchange.say(&LastLine::of(bytes)).map_err(|error| RoceError::Line(error.into()))?;
    let line = exchange.wait(interrupt, || station.idle());
    check_last(&line.map_err(RoceError::Last)?, bytes)
}

/// What the peer's last line says of `bytes` that were sent.
pub(super) fn check_last(line: &str, bytes: u64) -> Result<(), RoceError> {
    let wrong = |error: ParseError| RoceError::Last(error.into());
    match LastLine::parse(line).map_err(wrong)? {
        LastLine { error: Some(error), .. } => Err(wrong(ParseError::Refused(error))),
        LastLine { bytes: Some(kept), .. } if kept == bytes => Ok(()),
        LastLine { bytes: kept, .. } => {
            Err(RoceError::Kept { kept: kept.unwrap_or(0), sent: bytes })
        }
    }
}

const ACK_EVERY: u32 = 16;
