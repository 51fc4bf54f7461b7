//! A TCP/IP host on one server of the NIC: ARP, ICMP echo, UDP echo, DHCP and a TCP console.
//!
//! [`Stack::poll`] takes one frame and answers it; the caller passes the time. Until a DHCP server
//! gives an address, the host has the one of its configuration.

mod checksum;
mod console;
mod device;
#[cfg(test)]
mod tests;

use samplewire_nic_driver::{Bus, Server};
use smoltcp::iface::{Interface, PollIngressSingleResult, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::{dhcpv4, tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Address, Ipv4Cidr};

use console::Console;
use device::Device;
pub use device::DeviceCounters;

/// A TCP/IP host.
pub struct Stack<'a, B: Bus> {
    device: Device<B>,
    interface: Interface,
    sockets: SocketSet<'a>,
    echo: SocketHandle,
    /// A packet on its way from what the echo has received to what it sends.
    between: &'a mut Ring<UDP_BYTES_MAX>,
    dhcp: SocketHandle,
    tcp: SocketHandle,
    console: Console<B>,
    /// When sockets have something to do without a frame.
    deadline: Option<Instant>,
    address: Ipv4Cidr,
}

/// The memory of a host: sockets and what they hold.
#[derive(Debug)]
pub struct Storage<'a> {
    sockets: [SocketStorage<'a>; 3],
    echo_received: Packets,
    echo_sent: Packets,
    echo_between: Ring<UDP_BYTES_MAX>,
    tcp_received: Ring<512>,
    tcp_sent: Ring<2048>,
}

/// What a host starts with.
#[derive(Clone, Copy, Debug)]
pub struct StackConfig {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its IPv4 address until a DHCP server gives another one.
    pub ip: [u8; 4],
    /// The bits of its network.
    pub prefix_bits: u8,
    /// Random bits, for numbers of ports and transactions.
    pub seed: u64,
}

impl Storage<'_> {
    /// Empty memory.
    pub const fn new() -> Self {
        Self {
            sockets: [SocketStorage::EMPTY; 3],
            echo_received: Packets::new(),
            echo_sent: Packets::new(),
            echo_between: Ring::new(),
            tcp_received: Ring::new(),
            tcp_sent: Ring::new(),
        }
    }
}

impl Default for Storage<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a, B: Bus> Stack<'a, B> {
    /// A host at a server.
    pub fn new(
        bus: B,
        server: Server<B>,
        config: &StackConfig,
        storage: &'a mut Storage<'a>,
    ) -> Self {
        let mut device = Device::new(server);
        let hardware = HardwareAddress::Ethernet(EthernetAddress(config.mac));
        let mut settings = smoltcp::iface::Config::new(hardware);
        settings.random_seed = config.seed;
        let mut interface = Interface::new(settings, &mut device, Instant::ZERO);
        let [a, b, c, d] = config.ip;
        let address = Ipv4Cidr::new(Ipv4Address::new(a, b, c, d), config.prefix_bits);
        set_address(&mut interface, address);

        let mut sockets = SocketSet::new(&mut storage.sockets[..]);
        let mut echo = udp::Socket::new(storage.echo_received.ring(), storage.echo_sent.ring());
        echo.bind(ECHO_PORT).expect("the port is not 0");
        let tcp = tcp::Socket::new(
            tcp::SocketBuffer::new(&mut storage.tcp_received.bytes[..]),
            tcp::SocketBuffer::new(&mut storage.tcp_sent.bytes[..]),
        );
        Self {
            device,
            interface,
            echo: sockets.add(echo),
            between: &mut storage.echo_between,
            tcp: sockets.add(tcp),
            dhcp: sockets.add(dhcpv4::Socket::new()),
            sockets,
            console: Console::new(bus),
            deadline: Some(Instant::ZERO),
            address,
        }
    }

    /// Takes a frame that has come and sends what is to be sent. True if there was a frame.
    // Within `main` the compiler takes 2 KiB more for it.
    #[inline(never)]
    pub fn poll(&mut self, now: Instant) -> bool {
        // A ping is answered in here.
        let ingress = self.interface.poll_ingress_single(now, &mut self.device, &mut self.sockets);
        let is_frame = ingress != PollIngressSingleResult::None;
        if is_frame || self.deadline.is_some_and(|deadline| now >= deadline) {
            self.serve();
            self.interface.poll_egress(now, &mut self.device, &mut self.sockets);
            self.deadline = self.interface.poll_at(now, &self.sockets);
        }
        is_frame
    }

    /// When [`Stack::poll`] has something to do if no frame comes.
    pub const fn poll_at(&self) -> Option<Instant> {
        self.deadline
    }

    /// Its address, and the bits of its network.
    pub const fn address(&self) -> ([u8; 4], u8) {
        (self.address.address().octets(), self.address.prefix_len())
    }

    /// What the device has seen.
    pub const fn counters(&self) -> &DeviceCounters {
        &self.device.counters
    }

    fn serve(&mut self) {
        let echo = self.sockets.get_mut::<udp::Socket<'_>>(self.echo);
        // As many as can be sent again; others stay.
        while echo.can_send() && echo.can_recv() {
            let Ok((len, from)) = echo.recv_slice(&mut self.between.bytes) else { break };
            if echo.send_slice(&self.between.bytes[..len], from.endpoint).is_err() {
                break;
            }
        }
        self.console.poll(self.sockets.get_mut(self.tcp), &self.device.counters);
        match self.sockets.get_mut::<dhcpv4::Socket<'_>>(self.dhcp).poll() {
            Some(dhcpv4::Event::Configured(lease)) => {
                self.address = lease.address;
                set_address(&mut self.interface, lease.address);
                let routes = self.interface.routes_mut();
                match lease.router {
                    // A table of one route has room for the one it has.
                    Some(router) => drop(routes.add_default_ipv4_route(router)),
                    None => drop(routes.remove_default_ipv4_route()),
                }
            }
            // The address stays: a console that vanishes helps no one.
            Some(dhcpv4::Event::Deconfigured) | None => {}
        }
    }
}

fn set_address(interface: &mut Interface, address: Ipv4Cidr) {
    interface.update_ip_addrs(|addresses| {
        addresses.clear();
        addresses.push(IpCidr::Ipv4(address)).expect("a table with room for an address");
    });
}

/// Bytes of a socket from a half of a word on, as payload is in packet memory: then whole words are
/// copied.
#[derive(Debug)]
#[repr(C, align(4))]
struct Ring<const N: usize> {
    to_align: u16,
    bytes: [u8; N],
}

impl<const N: usize> Ring<N> {
    const fn new() -> Self {
        Self { to_align: 0, bytes: [0; N] }
    }
}

/// Packets of a UDP socket.
#[derive(Debug)]
struct Packets {
    heads: [udp::PacketMetadata; PACKETS],
    payload: Ring<{ PACKETS * UDP_BYTES_MAX }>,
}

impl Packets {
    const fn new() -> Self {
        Self { heads: [udp::PacketMetadata::EMPTY; PACKETS], payload: Ring::new() }
    }

    fn ring(&mut self) -> udp::PacketBuffer<'_> {
        udp::PacketBuffer::new(&mut self.heads[..], &mut self.payload.bytes[..])
    }
}

const ECHO_PORT: u16 = 7;
/// Of an Ethernet frame of 1,514 bytes.
const UDP_BYTES_MAX: usize = 1472;
const PACKETS: usize = 4;
