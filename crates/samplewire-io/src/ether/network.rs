//! An IPv4 address with its network, as an interface has it.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use super::Routes;

/// The address of a station, the network that is on its link, and the gateway to all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    ip: Ipv4Addr,
    prefix_bits: u8,
    gateway: Option<Ipv4Addr>,
}

/// An address that no station on a link can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It is written in another form.
    #[error("an address and its prefix are written as 10.0.0.2/24")]
    Form,
    /// It is a group's, a broadcast, or unspecified.
    #[error("{ip}/{prefix_bits} is no address of a station")]
    Address {
        /// The address.
        ip: Ipv4Addr,
        /// The length of its network's prefix.
        prefix_bits: u8,
    },
    /// The gateway is not on the link, or the station itself.
    #[error("the gateway {gateway} is no other station of {network}")]
    Gateway {
        /// The gateway.
        gateway: Ipv4Addr,
        /// The network.
        network: Network,
    },
}

impl Network {
    /// The address `ip` in a network whose prefix has so many bits, without a gateway: stations outside
    /// are not reached.
    ///
    /// # Errors
    /// No station can have this address.
    pub fn new(ip: Ipv4Addr, prefix_bits: u8) -> Result<Self, NetworkError> {
        let wrong = NetworkError::Address { ip, prefix_bits };
        if prefix_bits > 32 || ip.is_multicast() || ip.is_broadcast() || ip.is_unspecified() {
            return Err(wrong);
        }
        let network = Self { ip, prefix_bits, gateway: None };
        let host = ip.to_bits() & !network.mask();
        // The first and the last address are the network's own, but for pairs (RFC 3021).
        if prefix_bits < 31 && (host == 0 || host == !network.mask()) {
            return Err(wrong);
        }
        Ok(network)
    }

    /// Reaches stations outside by this one.
    ///
    /// # Errors
    /// It is not on the link.
    pub fn by(self, gateway: Ipv4Addr) -> Result<Self, NetworkError> {
        if !self.contains(gateway) || gateway == self.ip {
            return Err(NetworkError::Gateway { gateway, network: self });
        }
        Ok(Self { gateway: Some(gateway), ..self })
    }

    /// The address.
    pub const fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// Whether packets to `ip` can leave: it is on the link, or there is a gateway.
    pub(super) fn reaches(&self, ip: Ipv4Addr) -> bool {
        self.gateway.is_some() || self.contains(ip)
    }

    /// Whether a station can have the address `ip`, as the source of a packet to this one: it is not this
    /// station's own, of a group, a broadcast, unspecified, or of a loopback interface (RFC 1122, 3.2.1.3).
    pub(super) fn may_send(&self, ip: Ipv4Addr) -> bool {
        let host = ip.to_bits() & !self.mask();
        let is_network_s =
            self.prefix_bits < 31 && self.contains(ip) && (host == 0 || host == !self.mask());
        let is_none = ip.is_multicast() || ip.is_broadcast() || ip.is_loopback();
        // 0.0.0.0/8 is this network (RFC 6890).
        !(is_network_s || is_none || ip.octets()[0] == 0 || ip == self.ip)
    }

    /// The routes: the network itself, then the gateway.
    pub(super) fn routes(&self) -> Routes {
        Routes::of_network(self.ip, self.mask(), self.gateway)
    }

    fn contains(&self, ip: Ipv4Addr) -> bool {
        ip.to_bits() & self.mask() == self.ip.to_bits() & self.mask()
    }

    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.prefix_bits)).unwrap_or(0)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix_bits)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (ip, prefix) = text.split_once('/').ok_or(NetworkError::Form)?;
        let ip = ip.parse().map_err(|_| NetworkError::Form)?;
        Self::new(ip, prefix.parse().map_err(|_| NetworkError::Form)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back_as_they_are_written() {
        for text in ["10.0.0.2/24", "192.0.2.1/32", "10.0.0.0/31", "172.16.5.4/0"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn addresses_that_no_station_has_are_refused() {
        for text in ["", "10.0.0.2", "10.0.0/24", "10.0.0.2/", "10.0.0.2/-1", "10.0.0.2/256"] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::Form), "{text}");
        }
        for text in ["10.0.0.2/33", "224.0.0.1/24", "0.0.0.0/0", "10.0.0.255/24", "10.0.0.0/24"] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert_eq!(error, format!("{text} is no address of a station"));
        }
    }

    #[test]
    fn addresses_that_no_other_station_has_send_nothing() {
        let network: Network = "10.1.2.3/24".parse().unwrap();
        for text in [
            "10.1.2.3",
            "10.1.2.0",
            "10.1.2.255",
            "255.255.255.255",
            "224.0.0.1",
            "239.1.1.1",
            "0.0.0.0",
            "0.0.0.9",
            "127.0.0.1",
            "127.9.9.9",
        ] {
            assert!(!network.may_send(text.parse().unwrap()), "{text}");
        }
        for text in ["10.1.2.1", "10.1.2.254", "10.1.3.255", "10.1.3.0", "192.0.2.1", "128.0.0.1"] {
            assert!(network.may_send(text.parse().unwrap()), "{text}");
        }
        let pair: Network = "10.1.2.2/31".parse().unwrap();
        assert!(pair.may_send(Ipv4Addr::new(10, 1, 2, 3)));
    }

    #[test]
    fn stations_outside_are_reached_by_the_gateway_alone() {
        let network: Network = "10.1.2.3/16".parse().unwrap();
        let [near, far] = [[10, 1, 200, 1], [10, 2, 0, 1]].map(Ipv4Addr::from);
        assert_eq!((network.reaches(near), network.reaches(far)), (true, false));
        for wrong in [far, network.ip()] {
            let error = network.by(wrong).unwrap_err().to_string();
            assert_eq!(error, format!("the gateway {wrong} is no other station of 10.1.2.3/16"));
        }
        let network = network.by(near).unwrap();
        assert!(network.reaches(far));
        let routes = network.routes();
        let other = Ipv4Addr::new(10, 1, 0, 9);
        assert_eq!((routes.hop(far), routes.hop(other)), (near, other));
    }
}
