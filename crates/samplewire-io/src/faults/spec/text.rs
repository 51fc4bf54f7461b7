//! Faults as text for a command line.

use std::str::FromStr;
use std::time::Duration;

use super::{FaultSpec, PacketTypes, SpecError};

/// Which packets of a stream faults are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those that the sender of samples sends: DATA, MARK and its part of opening and closing.
    Data,
    /// Those that the receiver of samples sends: REPORT and its part of opening and closing.
    Feedback,
}

/// Reads `data:loss=0.01,delay=5ms` or `feedback:..`; the keys are those of [`FaultSpec`].
///
/// ```
/// use samplewire_io::faults::{FaultSpec, Side, parse};
///
/// let (side, spec) = parse("data:loss=0.01,burst=8,seed=7")?;
/// assert_eq!(side, Side::Data);
/// assert_eq!(spec, FaultSpec::new().loss(0.01).burst(8.0).seed(7));
/// # Ok::<(), samplewire_io::faults::SpecError>(())
/// ```
///
/// # Errors
/// [`SpecError`], which names the key and the value.
pub fn parse(text: &str) -> Result<(Side, FaultSpec), SpecError> {
    let (side, spec) = text.split_once(':').unwrap_or((text, ""));
    let side = match side {
        "data" => Side::Data,
        "feedback" => Side::Feedback,
        _ => return Err(SpecError::UnknownSide { side: side.into() }),
    };
    Ok((side, spec.parse()?))
}

/// `key=value` pairs between commas: `loss`, `burst`, `corrupt`, `dup`, `reorder`, `depth`,
/// `delay`, `jitter`, `rate` (bits a second, with k, M or G), `only` (types joined by `+`),
/// `hold`, `seed`. Shares may be in per cent: `loss=1%`.
impl FromStr for FaultSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut spec = Self::new();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| SpecError::NoValue { key: pair.into() })?;
            spec = match key {
                "loss" => spec.loss(share(key, value)?),
                "burst" => spec.burst(number(key, value)?),
                "corrupt" => spec.corrupt(share(key, value)?),
                "dup" => spec.duplicate(share(key, value)?),
                "reorder" => spec.reorder(share(key, value)?),
                "depth" => spec.depth(number(key, value)?),
                "delay" => spec.delay(duration(key, value)?),
                "jitter" => spec.jitter(duration(key, value)?),
                "rate" => spec.rate(rate(key, value)?),
                "only" => spec.only(value.parse()?),
                "hold" => spec.hold(number(key, value)?),
                "seed" => spec.seed(number(key, value)?),
                _ => return Err(SpecError::UnknownKey { key: key.into(), known: KEYS }),
            };
        }
        spec.check()?;
        Ok(spec)
    }
}

/// Names of types in lower case, joined by `+`: `data+mark`.
impl FromStr for PacketTypes {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut types = Self::NONE;
        for name in text.split('+') {
            let number = TYPE_NAMES
                .iter()
                .position(|known| *known == name)
                .ok_or_else(|| SpecError::UnknownType { name: name.into() })?;
            types = types.union(Self::one(number as u8));
        }
        Ok(types)
    }
}

/// The name of a packet type by its number, `reserved` for those without one.
pub fn type_name(number: u8) -> &'static str {
    TYPE_NAMES.get(usize::from(number)).copied().unwrap_or("reserved")
}

fn not_a(key: &str, value: &str, expected: &'static str) -> SpecError {
    SpecError::NotAValue { key: key.into(), value: value.into(), expected }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, SpecError> {
    value.parse().map_err(|_| not_a(key, value, "a number that fits"))
}

/// A probability, also in per cent.
fn share(key: &str, value: &str) -> Result<f64, SpecError> {
    match value.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 =
                percent.parse().map_err(|_| not_a(key, value, "a share such as 1%"))?;
            Ok(percent / 100.0)
        }
        None => number(key, value),
    }
}

fn duration(key: &str, value: &str) -> Result<Duration, SpecError> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    units
        .iter()
        .find_map(|(unit, seconds)| Some((value.strip_suffix(unit)?, seconds)))
        .and_then(|(count, seconds)| Some(count.parse::<f64>().ok()? * seconds))
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| not_a(key, value, "a time such as 5ms, 20us, 1.5s"))
}

fn rate(key: &str, value: &str) -> Result<f64, SpecError> {
    let units = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)];
    let names = ["bit/s", "b/s", "bps"];
    let bare = names.iter().find_map(|name| value.strip_suffix(name)).unwrap_or(value);
    units
        .iter()
        .find_map(|(unit, factor)| Some((bare.strip_suffix(unit)?, factor)))
        .and_then(|(count, factor)| Some(count.parse::<f64>().ok()? * factor))
        .ok_or_else(|| not_a(key, value, "bits a second such as 800M or 2.5G"))
}

const KEYS: &str =
    "loss, burst, corrupt, dup, reorder, depth, delay, jitter, rate, only, hold, seed";

const TYPE_NAMES: [&str; 9] =
    ["data", "mark", "report", "open", "challenge", "accept", "refuse", "close", "close_ack"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_read() {
        let text = "data:loss=0.01,corrupt=0.001,dup=0.002,reorder=0.03,depth=5,delay=5ms,\
                    jitter=1.5us,burst=8,rate=2.5G,only=data+mark,hold=64,seed=7";
        let (side, spec) = parse(text).unwrap();
        assert_eq!(side, Side::Data);
        let expected = FaultSpec {
            loss: 0.01,
            burst_packets: Some(8.0),
            corrupt: 0.001,
            duplicate: 0.002,
            reorder: 0.03,
            depth_packets: 5,
            delay: Duration::from_millis(5),
            jitter: Duration::from_nanos(1_500),
            rate_bps: Some(2.5e9),
            only: PacketTypes::one(0).union(PacketTypes::one(1)),
            hold_packets_max: 64,
            seed: 7,
        };
        assert_eq!(spec, expected);
    }

    #[test]
    fn shares_and_rates_have_units() {
        let (_, spec) = parse("data:loss=1%,corrupt=0.5%,dup=2%,reorder=3%,rate=2.5Gb/s").unwrap();
        let plain = "data:loss=0.01,corrupt=0.005,dup=0.02,reorder=0.03,rate=2.5e9";
        assert_eq!(spec, parse(plain).unwrap().1);
        assert_eq!(
            parse("data:loss=150%").unwrap_err().to_string(),
            "loss=1.5: a probability is 0 to 1"
        );
        assert_eq!(parse("data:loss=%").unwrap_err().to_string(), "loss=%: not a share such as 1%");
    }

    #[test]
    fn side_alone_is_a_path_without_faults() {
        for text in ["feedback", "feedback:"] {
            assert_eq!(parse(text).unwrap(), (Side::Feedback, FaultSpec::new()));
        }
    }

    #[test]
    fn errors_name_the_key_and_the_value() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert_eq!(message("data:loss=1.5"), "loss=1.5: a probability is 0 to 1");
        assert_eq!(message("data:dup=NaN"), "dup=NaN: a probability is 0 to 1");
        assert_eq!(message("data:loss=x"), "loss=x: not a number that fits");
        assert_eq!(message("data:loss"), "loss: has no value; write loss=..");
        assert_eq!(message("up:loss=0"), "up: faults are for `data:` or `feedback:`");
        assert!(message("data:lost=0.1").starts_with("lost: unknown; known are loss, burst"));
        assert!(message("data:delay=5").starts_with("delay=5: not a time such as"));
        assert!(message("data:delay=-5ms").starts_with("delay=-5ms: not a time such as"));
        assert_eq!(message("data:jitter=61s"), "jitter=61s: it is 60 s at most");
        assert!(message("data:only=nack").starts_with("only=nack: no packet type"));
        assert_eq!(message("data:depth=0"), "depth=0: a depth is 1 packet or more");
        assert_eq!(message("data:hold=0"), "hold=0: it is 1 to 65536 packets");
        assert_eq!(message("data:rate=0"), "rate=0: a rate is 1 bit a second or more");
        assert!(message("data:rate=fast").starts_with("rate=fast: not bits a second"));
    }

    #[test]
    fn bursts_that_could_not_give_the_share_are_refused() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert_eq!(message("data:burst=4"), "burst=4: bursts need a loss above 0");
        assert!(message("data:loss=0.81,burst=4").starts_with("loss=0.81: bursts end"));
        assert!(parse("data:loss=0.8,burst=4").is_ok());
        assert!(message("data:loss=0.1,burst=0.5").starts_with("burst=0.5: a mean length"));
    }
}
