//! Addresses of devices as programs write them.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::error::OpenError;

/// The address of a device: a [`SocketAddr`], or text in the form `HOST[:PORT]`, with
/// [`DEFAULT_PORT`] where the text names no port.
pub trait ToAddress {
    /// The address.
    ///
    /// # Errors
    /// [`OpenError::Address`]: the name does not resolve.
    ///
    /// # Blocking
    /// While a name is looked up.
    fn to_address(&self) -> Result<SocketAddr, OpenError>;
}

impl ToAddress for SocketAddr {
    fn to_address(&self) -> Result<SocketAddr, OpenError> {
        Ok(*self)
    }
}

impl ToAddress for str {
    fn to_address(&self) -> Result<SocketAddr, OpenError> {
        resolve(self).map_err(|error| OpenError::Address { text: self.to_owned(), error })
    }
}

impl ToAddress for String {
    fn to_address(&self) -> Result<SocketAddr, OpenError> {
        self.as_str().to_address()
    }
}

impl<T: ToAddress + ?Sized> ToAddress for &T {
    fn to_address(&self) -> Result<SocketAddr, OpenError> {
        (**self).to_address()
    }
}

/// Resolves `HOST[:PORT]`, with [`DEFAULT_PORT`] where there is none.
///
/// # Errors
/// The name does not resolve to an address.
pub fn resolve(text: &str) -> io::Result<SocketAddr> {
    let mut addresses = match text.to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => {
            let bare = text.trim_start_matches('[').trim_end_matches(']');
            let found = (bare, DEFAULT_PORT).to_socket_addrs();
            // Of a name alone, the first attempt only reports that the port is missing.
            found.map_err(|of_bare| if text.contains(':') { error } else { of_bare })?
        }
    };
    addresses.next().ok_or_else(|| io::Error::other(format!("{text} has no address")))
}

/// The port on which devices listen.
pub const DEFAULT_PORT: u16 = 9100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_a_port_gets_the_default() {
        assert_eq!(resolve("127.0.0.1").unwrap(), "127.0.0.1:9100".parse().unwrap());
        assert_eq!(resolve("127.0.0.1:7").unwrap(), "127.0.0.1:7".parse().unwrap());
        assert_eq!(resolve("[::1]").unwrap(), "[::1]:9100".parse().unwrap());
        assert!(resolve("127.0.0.1:port").is_err());
    }

    #[test]
    fn address_that_does_not_resolve_is_named() {
        let error = "127.0.0.1:port".to_address().unwrap_err().to_string();
        assert!(error.starts_with("address 127.0.0.1:port: "), "{error}");
    }
}
