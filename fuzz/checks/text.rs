//! Any text that a user may write for a source, a quantity, faults, a format, how often, or an
//! address is read or refused.

use std::net::{IpAddr, SocketAddr};

use samplewire::source::parse_quantity;
use samplewire::{DEFAULT_PORT, format, resolve};
use samplewire_io::faults;
use samplewire_record::source::{Repeat, SourceSpec};

use crate::input::Input;

/// Reads the text after the first byte as what that byte says.
///
/// # Panics
/// When what is read does not read back as itself.
pub(crate) fn check(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let choice = input.byte();
    if choice.is_multiple_of(8) {
        return address(&mut input);
    }
    let Ok(text) = std::str::from_utf8(input.rest()) else { return };
    match choice % 8 {
        1 | 2 => source(text),
        3 => quantity(text),
        4 => repeat(text),
        5 => drop(format::parse(text).map(|it| assert_eq!(format::parse(it.as_str()), Ok(it)))),
        _ => faults_of(text),
    }
}

fn source(text: &str) {
    let spec: SourceSpec = match text.parse() {
        Ok(spec) => spec,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = spec.to_string();
    let is_known = matches!(spec, SourceSpec::File(_)) || !written.is_empty();
    assert!(is_known);
    assert_eq!(written.parse(), Ok(spec), "it reads back: {written}");
}

fn quantity(text: &str) {
    match parse_quantity(text) {
        Ok(number) => assert!(number.is_finite()),
        Err(error) => assert_eq!(error.text, text),
    }
}

fn repeat(text: &str) {
    match text.parse() {
        Ok(Repeat::Times(times)) => assert!(times > 0),
        Ok(Repeat::Forever) => assert_eq!(text, "forever"),
        Err(error) => assert_eq!(error.text, text),
    }
}

/// A fault's text is that of a side and of the faults behind it.
fn faults_of(text: &str) {
    match faults::parse(text) {
        Ok((_, spec)) => {
            let (_, behind) = text.split_once(':').unwrap_or((text, ""));
            assert_eq!(behind.parse(), Ok(spec));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Literal addresses with and without a port. Names are left out: they ask a resolver.
fn address(input: &mut Input<'_>) {
    let is_v4 = input.byte() & 1 == 0;
    let port = (input.byte() & 1 == 0).then(|| input.half());
    let mut octets = [0; 16];
    let drawn = input.slice(16);
    octets[..drawn.len()].copy_from_slice(drawn);
    let ip = if is_v4 {
        IpAddr::from([octets[0], octets[1], octets[2], octets[3]])
    } else {
        IpAddr::from(octets)
    };
    let expected = SocketAddr::new(ip, port.unwrap_or(DEFAULT_PORT));
    let text = match (ip, port) {
        (_, Some(_)) => expected.to_string(),
        (IpAddr::V6(ip), None) => format!("[{ip}]"),
        (IpAddr::V4(ip), None) => ip.to_string(),
    };
    assert_eq!(resolve(&text).expect("a literal address needs no resolver"), expected);
}
