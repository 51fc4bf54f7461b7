//! Which port leads where.

/// Hosts, switches and the links between them. Each host has one link.
#[derive(Clone, Debug)]
pub struct Topology {
    pub(super) switches: Vec<Vec<PortSpec>>,
    /// Switch and port of each host.
    pub(super) hosts: Vec<(usize, usize)>,
    /// For each switch: the port towards each host.
    pub(super) routes: Vec<Vec<usize>>,
}

/// A port of a switch and what its link leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortSpec {
    pub(super) bps: u64,
    pub(super) to: End,
}

/// What a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Host(usize),
    Switch { index: usize, port: usize },
}

impl Topology {
    /// One switch. Hosts `0..senders` have links of `sender_bps`, and host `senders`, the server, one
    /// of `shared_bps`.
    pub fn star(senders: usize, sender_bps: u64, shared_bps: u64) -> Self {
        let mut topology = Self::empty(1);
        (0..senders).for_each(|_| topology.add_host(0, sender_bps));
        topology.add_host(0, shared_bps);
        topology.route(&[]);
        topology
    }

    /// Two switches with a trunk of `trunk_bps`; every host has a link of `host_bps`. Hosts 0 to 3
    /// are at the first switch, and 4 to 6 at the second.
    pub fn two_switches(host_bps: u64, trunk_bps: u64) -> Self {
        let mut topology = Self::empty(2);
        (0..4).for_each(|_| topology.add_host(0, host_bps));
        (4..7).for_each(|_| topology.add_host(1, host_bps));
        let trunk = topology.add_trunk(0, 1, trunk_bps);
        topology.route(&[trunk]);
        topology
    }

    /// `boards` hosts of `board_bps` at `leaves` switches in turn, then `servers` hosts of
    /// `server_bps` at the spine, the last switch. Each leaf has one trunk of `trunk_bps`.
    pub fn leaf_and_spine(
        (boards, board_bps): (usize, u64),
        (leaves, trunk_bps): (usize, u64),
        (servers, server_bps): (usize, u64),
    ) -> Self {
        let mut topology = Self::empty(leaves + 1);
        (0..boards).for_each(|board| topology.add_host(board % leaves, board_bps));
        (0..servers).for_each(|_| topology.add_host(leaves, server_bps));
        let trunks: Vec<_> =
            (0..leaves).map(|leaf| topology.add_trunk(leaf, leaves, trunk_bps)).collect();
        topology.route(&trunks);
        topology
    }

    fn empty(switches: usize) -> Self {
        Self { switches: vec![vec![]; switches], hosts: vec![], routes: vec![] }
    }

    fn add_host(&mut self, switch: usize, bps: u64) {
        let host = self.hosts.len();
        self.hosts.push((switch, self.switches[switch].len()));
        self.switches[switch].push(PortSpec { bps, to: End::Host(host) });
    }

    /// Connects two switches; both and their ports.
    fn add_trunk(&mut self, a: usize, b: usize, bps: u64) -> [(usize, usize); 2] {
        let (at_a, at_b) = ((a, self.switches[a].len()), (b, self.switches[b].len()));
        self.switches[a].push(PortSpec { bps, to: End::Switch { index: b, port: at_b.1 } });
        self.switches[b].push(PortSpec { bps, to: End::Switch { index: a, port: at_a.1 } });
        [at_a, at_b]
    }

    /// Routes by trunks that all end at one switch: from another switch everything that is not at
    /// home goes there.
    fn route(&mut self, trunks: &[[(usize, usize); 2]]) {
        let hub = self.switches.len() - 1;
        let up = |switch: usize| trunks.iter().find(|trunk| trunk[0].0 == switch);
        let port_towards = |switch: usize, host: usize| {
            let (home, port) = self.hosts[host];
            if switch == home {
                return port;
            }
            let through =
                if switch == hub { up(home).map(|it| it[1]) } else { up(switch).map(|it| it[0]) };
            through.expect("each switch has a trunk to the hub").1
        };
        self.routes = (0..self.switches.len())
            .map(|switch| (0..self.hosts.len()).map(|host| port_towards(switch, host)).collect())
            .collect();
    }

    /// The rate of a host's link.
    pub(super) fn host_bps(&self, host: usize) -> u64 {
        let (switch, port) = self.hosts[host];
        self.switches[switch][port].bps
    }

    /// Links from one host to another.
    pub(super) fn links_between(&self, from: usize, to: usize) -> u64 {
        let hub = self.switches.len() - 1;
        let [from, to] = [from, to].map(|host| self.hosts[host].0);
        2 + u64::from(from != to) + u64::from(from != to && from != hub && to != hub)
    }
}
