//! What the driver of a network card reports, by the ioctl `SIOCETHTOOL` (`linux/ethtool.h`). Only
//! reads: none of them needs a privilege.
//!
//! Every answer is a list of names and numbers, since drivers differ in what they count.

mod sys;

use std::io;

use sys::{Card, number, word};

/// Names and numbers of an answer, in the order of the kernel.
pub type Fields = Vec<(String, u64)>;

/// Sizes of the rings, `ethtool -g`: `rx_max`, `tx_max`, `rx`, `tx`.
///
/// # Errors
/// `EOPNOTSUPP` where the driver has none, `ENODEV` without such an interface.
pub fn rings(interface: &str) -> io::Result<Fields> {
    let words = Card::open(interface)?.words::<9>(0x10)?;
    Ok(named(&words, &[("rx_max", 1), ("tx_max", 4), ("rx", 5), ("tx", 8)]))
}

/// Coalescing of interrupts, `ethtool -c`: `rx_usecs`, `rx_frames`, `adaptive_rx`.
///
/// # Errors
/// See [`rings`].
pub fn coalescing(interface: &str) -> io::Result<Fields> {
    let words = Card::open(interface)?.words::<23>(0x0e)?;
    Ok(named(&words, &[("rx_usecs", 1), ("rx_frames", 2), ("adaptive_rx", 10)]))
}

/// Flow control, `ethtool -a`: `autoneg`, `rx`, `tx`, each 0 or 1.
///
/// # Errors
/// See [`rings`].
pub fn pause(interface: &str) -> io::Result<Fields> {
    let words = Card::open(interface)?.words::<4>(0x12)?;
    Ok(named(&words, &[("autoneg", 1), ("rx", 2), ("tx", 3)]))
}

/// Queues, `ethtool -l`: `rx_max`, `combined_max`, `rx`, `combined`.
///
/// # Errors
/// See [`rings`].
pub fn channels(interface: &str) -> io::Result<Fields> {
    let words = Card::open(interface)?.words::<9>(0x3c)?;
    Ok(named(&words, &[("rx_max", 1), ("combined_max", 4), ("rx", 5), ("combined", 8)]))
}

/// Time stamps, `ethtool -T`: `phc_index`, the number of the card's PTP clock; without one the list is
/// empty.
///
/// # Errors
/// See [`rings`].
pub fn time_stamps(interface: &str) -> io::Result<Fields> {
    let words = Card::open(interface)?.words::<11>(0x41)?;
    let index = i32::try_from(i64::from(words[2] as i32)).unwrap_or(-1);
    Ok(u64::try_from(index).map(|index| ("phc_index".into(), index)).into_iter().collect())
}

/// The fields that choose the queue of a packet of UDP over IPv4, `ethtool -n IF rx-flow-hash udp4`,
/// as bits of `RXH_*`; and the number of steering rules, `ethtool -n IF`.
///
/// # Errors
/// See [`rings`].
pub fn flow_hash(interface: &str) -> io::Result<Fields> {
    let card = Card::open(interface)?;
    let fields = card.rules(0x29, UDP_V4_FLOW)?.hash;
    // A driver without rules still has a hash.
    let rules = card.rules(0x2e, 0).map_or(0, |it| it.rules);
    Ok(vec![("udp4".into(), fields), ("rules".into(), rules.into())])
}

/// Offloads, `ethtool -k`: each feature's name, with [`FEATURE_ON`] and [`FEATURE_FIXED`].
///
/// # Errors
/// See [`rings`].
pub fn features(interface: &str) -> io::Result<Fields> {
    let card = Card::open(interface)?;
    let names = card.strings(STRINGS_FEATURES)?;
    let blocks = names.len().div_ceil(32);
    // A head of two words, then for each 32 features the words available, requested, active, fixed.
    let answer = card.answer(0x3a, blocks as u32, 8 + 16 * blocks)?;
    let bit =
        |at: usize, of: usize| word(&answer, 8 + 16 * (at / 32) + 4 * of) >> (at % 32) & 1 == 1;
    let state = |at: usize| {
        let on = if bit(at, 2) { FEATURE_ON } else { 0 };
        on | if !bit(at, 0) || bit(at, 3) { FEATURE_FIXED } else { 0 }
    };
    let fields = names.into_iter().enumerate().map(|(at, name)| (name, state(at)));
    Ok(fields.filter(|it| !it.0.is_empty()).collect())
}

/// Counters of the driver, `ethtool -S`.
///
/// # Errors
/// See [`rings`].
pub fn statistics(interface: &str) -> io::Result<Fields> {
    let card = Card::open(interface)?;
    let names = card.strings(STRINGS_STATISTICS)?;
    let answer = card.answer(0x1d, names.len() as u32, 8 + 8 * names.len())?;
    let fields = names.into_iter().enumerate();
    Ok(fields.map(|(at, name)| (name, number(&answer, 8 + 8 * at))).collect())
}

fn named(words: &[u32], names: &[(&str, usize)]) -> Fields {
    names.iter().map(|&(name, at)| (name.to_owned(), words[at].into())).collect()
}

/// The feature is on.
pub const FEATURE_ON: u64 = 1;
/// The driver does not let anyone change the feature.
pub const FEATURE_FIXED: u64 = 2;

const UDP_V4_FLOW: u32 = 2;
const STRINGS_STATISTICS: u32 = 1;
const STRINGS_FEATURES: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_features_and_no_rings() {
        let features = features("lo").unwrap();
        let of = |name: &str| features.iter().find(|it| it.0 == name).map(|it| it.1);
        assert_eq!(of("loopback"), Some(FEATURE_ON | FEATURE_FIXED));
        assert!(of("rx-gro").is_some());
        assert_eq!(rings("lo").unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    }

    #[test]
    fn names_that_are_no_interface_are_refused() {
        for name in ["no such", "longer than sixteen bytes", "", "nul\0"] {
            let error = features(name).unwrap_err().raw_os_error();
            assert!(matches!(error, Some(libc::ENODEV | libc::EINVAL)), "{name}: {error:?}");
        }
    }
}
