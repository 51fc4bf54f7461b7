//! The way to an address: itself, or a router.

use std::net::Ipv4Addr;
use std::{fs, io};

/// Routes of IPv4 over one link, the most specific first. Without one a station is a neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Routes {
    routes: Vec<Route>,
}

/// The way to the addresses that `mask` makes equal to `network`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    network: u32,
    mask: u32,
    /// Unspecified where the network is on the link.
    router: Ipv4Addr,
    metric: u32,
}

impl Routes {
    /// One router to all.
    pub(super) fn by(router: Ipv4Addr) -> Self {
        Self { routes: vec![Route { network: 0, mask: 0, router, metric: 0 }] }
    }

    /// A network on the link, and a router to all others.
    pub(super) fn of_network(ip: Ipv4Addr, mask: u32, router: Option<Ipv4Addr>) -> Self {
        let on_link =
            Route { network: ip.to_bits() & mask, mask, router: Ipv4Addr::UNSPECIFIED, metric: 0 };
        let mut routes = vec![on_link];
        routes.extend(router.into_iter().flat_map(|it| Self::by(it).routes));
        Self { routes }
    }

    /// The kernel's main table for an interface.
    pub(super) fn of_host(interface: &str) -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/net/route")?, interface))
    }

    /// Reads the table: a line of words for each route, whose addresses are hexadecimal words of the
    /// host's byte order (proc_net(5)). Lines of another form are passed over.
    fn parse(table: &str, interface: &str) -> Self {
        let mut routes: Vec<_> =
            table.lines().filter_map(|line| Route::parse(line, interface)).collect();
        routes.sort_by_key(|route| (u32::MAX - route.mask, route.metric));
        Self { routes }
    }

    /// Who takes packets to `ip`: its own station, or the router on the way.
    pub(super) fn hop(&self, ip: Ipv4Addr) -> Ipv4Addr {
        let route = self.routes.iter().find(|it| ip.to_bits() & it.mask == it.network);
        route.map(|it| it.router).filter(|it| !it.is_unspecified()).unwrap_or(ip)
    }
}

impl Route {
    fn parse(line: &str, interface: &str) -> Option<Self> {
        let words: Vec<_> = line.split_whitespace().collect();
        let &[name, network, router, flags, _, _, metric, mask, ..] = &words[..] else {
            return None;
        };
        let word = |text| u32::from_str_radix(text, 16).ok();
        if name != interface || word(flags)? & (UP | REJECT) != UP {
            return None;
        }
        Some(Self {
            network: u32::from_be(word(network)?),
            mask: u32::from_be(word(mask)?),
            router: Ipv4Addr::from_bits(u32::from_be(word(router)?)),
            metric: metric.parse().ok()?,
        })
    }
}

/// Flags of a route: RTF_UP and RTF_REJECT of the kernel's `uapi/linux/route.h`.
const UP: u32 = 1;
const REJECT: u32 = 0x200;

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    const TABLE: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0
eth0\t0002A8C0\t0900000A\t0003\t0\t0\t50\t00FFFFFF\t0\t0\t0
eth0\t0002A8C0\t0800000A\t0003\t0\t0\t20\t00FFFFFF\t0\t0\t0
eth0\t0302A8C0\t00000000\t0201\t0\t0\t0\tFFFFFFFF\t0\t0\t0
eth1\t000000AC\t0100000B\t0003\t0\t0\t0\t000000FF\t0\t0\t0
eth0\tnothing
";

    fn hop(routes: &Routes, ip: [u8; 4]) -> [u8; 4] {
        routes.hop(Ipv4Addr::from(ip)).octets()
    }

    #[test]
    fn most_specific_route_of_the_interface_counts_and_then_the_metric() {
        let routes = Routes::parse(TABLE, "eth0");
        assert_eq!(hop(&routes, [10, 0, 0, 77]), [10, 0, 0, 77]);
        assert_eq!(hop(&routes, [10, 0, 1, 77]), [10, 0, 0, 1]);
        assert_eq!(hop(&routes, [192, 168, 2, 3]), [10, 0, 0, 8], "a rejected one is none");
        assert_eq!(hop(&routes, [172, 1, 1, 1]), [10, 0, 0, 1], "of another interface");
    }

    #[test]
    fn without_a_route_all_are_neighbours_and_one_router_may_take_all() {
        for routes in [Routes::default(), Routes::parse(TABLE, "eth2"), Routes::parse("", "eth0")] {
            assert_eq!(hop(&routes, [8, 8, 8, 8]), [8, 8, 8, 8]);
        }
        let routes = Routes::by(Ipv4Addr::new(10, 0, 0, 9));
        assert_eq!(hop(&routes, [8, 8, 8, 8]), [10, 0, 0, 9]);
    }

    #[test]
    fn table_of_this_host_can_be_read() {
        assert_eq!(hop(&Routes::of_host("lo").unwrap(), [127, 0, 0, 2]), [127, 0, 0, 2]);
    }
}
