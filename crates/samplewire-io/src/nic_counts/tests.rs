use samplewire_testing::{PATIENCE, in_namespace, skip, wait_for};

use super::*;
use crate::bpf::{Assembler, Attachment, Program, ProgramKind, Register, XdpMode};
use crate::ethtool::Fields;

fn queue(number: u32, packets: u64, drops: u64) -> Queue {
    Queue { number, packets: Some(packets), bytes: Some(packets * 1_042), drops: Some(drops) }
}

/// Frames of 1,000 bytes of payload.
fn counts(queues: &[Queue], shared_drops: u64) -> NicCounts {
    let frames = queues.iter().filter_map(|queue| queue.packets).sum();
    NicCounts {
        frames,
        bytes: frames * 1_042,
        shared_drops,
        ring_drops: 0,
        driver_drops: 0,
        queues: queues.to_vec(),
        is_partial: false,
    }
}

fn flow(packets: u64) -> Flow {
    Flow { payload_bytes: packets * 1_000, header_bytes: 42, slack_bytes: 0 }
}

#[test]
fn drops_are_the_flows_where_it_is_alone() {
    let of = |counts: NicCounts, packets| counts.drops_of(&flow(packets), 0);
    // Alone on the interface: all drops. Others may have 1 %.
    assert_eq!(of(counts(&[queue(0, 10_000, 7)], 5), 10_000), FlowDrops::Own(12));
    assert_eq!(of(counts(&[queue(0, 10_100, 7)], 5), 10_000), FlowDrops::Own(12));
    assert_eq!(of(counts(&[queue(0, 10_101, 7)], 5), 10_000), FlowDrops::AtMost(12));
    // Alone on its queue, beside another queue that could not have carried it.
    let two = |other, drops| counts(&[queue(0, 10_000, 7), queue(1, other, drops)], 0);
    assert_eq!(of(two(5_000, 9), 10_000), FlowDrops::Own(7));
    assert_eq!(of(two(8_999, 9), 10_000), FlowDrops::Own(7));
    assert_eq!(of(two(9_000, 9), 10_000), FlowDrops::AtMost(16), "either may be its queue");
    // Before a queue is chosen, the drops are those of all.
    let shared = counts(&[queue(0, 10_000, 7), queue(1, 5_000, 9)], 3);
    assert_eq!(of(shared, 10_000), FlowDrops::AtMost(10));
    assert_eq!(of(counts(&[], 0), 0), FlowDrops::Own(0));
    let hidden = NicCounts { is_partial: true, ..counts(&[queue(0, 10_000, 0)], 0) };
    assert_eq!(of(hidden, 10_000), FlowDrops::Unknown);
}

#[test]
fn queues_without_drops_are_no_doubt() {
    let busy = counts(&[queue(0, 10_000, 0), queue(1, 90_000, 400)], 0);
    assert_eq!(busy.drops_of(&flow(10_000), 0), FlowDrops::AtMost(400));
    let apart = counts(&[queue(0, 10_000, 0), queue(1, 500, 400)], 0);
    assert_eq!(apart.drops_of(&flow(10_000), 0), FlowDrops::Own(0));
    let calm = counts(&[queue(0, 50_000, 0), queue(1, 90_000, 0)], 0);
    assert_eq!(calm.drops_of(&flow(10_000), 0), FlowDrops::Own(0));
}

#[test]
fn packets_that_the_kernel_joined_hide_no_other_flow() {
    // 10,000 packets in 500 frames of 20, and as many frames of another flow.
    let joined = |frames, bytes| NicCounts { frames, bytes, shared_drops: 4, ..Default::default() };
    let own = joined(500, 10_000_000 + 500 * 42);
    assert_eq!(own.drops_of(&flow(10_000), 0), FlowDrops::Own(4));
    let both = joined(1_000, 10_500_000 + 1_000 * 42);
    assert_eq!(both.drops_of(&flow(10_000), 0), FlowDrops::AtMost(4));
}

#[test]
fn drivers_sum_counts_only_without_queues_and_less_what_is_the_kernels() {
    let sum = NicCounts { driver_drops: 30, ..counts(&[], 0) };
    assert_eq!(sum.drops_of(&flow(0), 20), FlowDrops::Own(10));
    assert_eq!(sum.drops_of(&flow(0), 31), FlowDrops::Own(0));
    let queues = NicCounts { driver_drops: 30, ..counts(&[queue(0, 10, 2)], 0) };
    assert_eq!(queues.drops_of(&flow(10), 0), FlowDrops::Own(2));
}

#[test]
fn drops_of_the_driver_complete_the_queues_of_the_kernel() {
    let kernel = |number| Queue { drops: None, ..queue(number, 10, 0) };
    let driver = |number, drops| Queue { packets: None, bytes: None, ..queue(number, 0, drops) };
    let whole = completed(vec![kernel(0), kernel(1)], vec![driver(1, 7), driver(2, 9)]);
    assert_eq!(whole, [kernel(0), queue(1, 10, 7)]);
    assert_eq!(completed(Vec::new(), vec![driver(1, 7)]), [driver(1, 7)]);
    assert_eq!(completed(vec![queue(1, 10, 3)], vec![driver(1, 7)]), [queue(1, 10, 3)]);
}

#[test]
fn counters_that_begin_again_are_no_count() {
    let ring_drops = 2;
    let early = NicCounts { ring_drops, ..counts(&[queue(0, 100, 7), queue(1, 50, 1)], 4) };
    assert_eq!(early.since(&early).unwrap().drops_of(&flow(0), 0), FlowDrops::Own(0));
    let later = NicCounts { ring_drops, ..counts(&[queue(0, 150, 9), queue(1, 50, 1)], 4) };
    let since = later.since(&early).unwrap();
    assert_eq!((since.frames, since.queues[0].drops), (50, Some(2)));
    for wrong in [
        counts(&[queue(0, 150, 6), queue(1, 50, 1)], 4),
        counts(&[queue(0, 99, 9), queue(1, 200, 1)], 4),
        counts(&[queue(0, 150, 9), queue(1, 50, 1)], 3),
        NicCounts { ring_drops: 1, ..later.clone() },
        counts(&[queue(0, 200, 9)], 4),
        counts(&[queue(0, 150, 9), queue(2, 50, 1)], 4),
        counts(&[queue(0, 150, 9), Queue { drops: None, ..queue(1, 50, 1) }], 4),
        NicCounts::default(),
    ] {
        let wrong = match wrong.ring_drops {
            0 => NicCounts { ring_drops, ..wrong },
            _ => wrong,
        };
        assert_eq!(wrong.since(&early), None, "{wrong:?}");
    }
    // A counter of 32 bits that wraps looks the same.
    let full = counts(&[queue(0, 100, u32::MAX.into())], 0);
    assert_eq!(counts(&[queue(0, 200, 3)], 0).since(&full), None);
}

/// As `ethtool -S` of each driver prints them, by its source; only veth and virtio_net were tried on a
/// machine.
#[test]
fn names_of_drivers_are_known() {
    let fields = |names: &[(&str, u64)]| -> Fields {
        names.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    };
    let of = |names: &[(&str, u64)]| {
        let queues = queues_of(&fields(names));
        queues.iter().map(|it| (it.number, it.packets, it.bytes, it.drops)).collect::<Vec<_>>()
    };
    let veth = [
        ("peer_ifindex", 3),
        ("rx_queue_0_xdp_packets", 20),
        ("rx_queue_0_xdp_bytes", 900),
        ("rx_queue_0_drops", 1),
        ("rx_queue_0_xdp_redirect", 5),
        ("rx_queue_0_xdp_drops", 4),
        ("tx_queue_0_xdp_xmit", 7),
    ];
    assert_eq!(of(&veth), [(0, None, None, Some(4))]);
    let virtio = [("rx_drops", 9), ("rx0_drops", 9), ("rx0_xdp_packets", 3), ("rx0_xdp_drops", 2)];
    assert_eq!(of(&virtio), [(0, None, None, Some(9))]);
    let mlx5 = [("rx11_packets", 9), ("rx2_bytes", 8), ("rx2_packets", 7), ("rx_out_of_buffer", 3)];
    assert_eq!(of(&mlx5), [(2, Some(7), Some(8), None), (11, Some(9), None, None)]);
    let i40e = [("rx-3.packets", 5), ("rx-3.bytes", 6), ("port.rx_dropped", 2), ("tx-3.bytes", 9)];
    assert_eq!(of(&i40e), [(3, Some(5), Some(6), None)]);
    let ena = [("queue_1_rx_cnt", 4), ("queue_1_rx_page_alloc_fail", 2), ("queue_1_tx_cnt", 9)];
    assert_eq!(of(&ena), [(1, Some(4), None, Some(2))]);
    let others =
        [("rx_packets", 1), ("rx_queue_99999999999_drops", 1), ("rx", 1), ("rx_queue_", 1)];
    assert_eq!(of(&others), []);
}

/// Counters of cards before and after a flow of 100,000 packets of 1,000 bytes, made from the sources of
/// their drivers: frames, bytes, `rx_missed_errors` and `rx_dropped` of the interface, then `ethtool -S`. Not
/// tried with a card.
const CARDS: &str = include_str!("cards.tree");

fn card(name: &str) -> NicCounts {
    let (_, text) = CARDS.split_once(&format!("== {name}\n")).expect("a card of the tree");
    let text = text.split("== ").next().expect("its text");
    let lines = text.lines().map(|line| line.rsplit_once(' ').expect("a name and a number"));
    let (link, fields): (Vec<_>, Vec<_>) = lines.partition(|it| it.0.starts_with("link "));
    let link = format!("{} {}", link[0].0, link[0].1);
    let link: Vec<u64> = link.split(' ').skip(1).map(|it| it.parse().unwrap()).collect();
    let fields: Fields =
        fields.iter().map(|it| (it.0.replace(' ', "_"), it.1.parse().unwrap())).collect();
    NicCounts {
        frames: link[0],
        bytes: link[1],
        shared_drops: link[2],
        driver_drops: link[3],
        queues: queues_of(&fields),
        ..NicCounts::default()
    }
}

#[test]
fn recorded_cards_give_the_flow_its_own_drops_or_a_bound() {
    let drops = |name: &str, elsewhere| {
        let since = card(&format!("{name}/after")).since(&card(&format!("{name}/before")));
        since.unwrap().drops_of(&flow(100_000), elsewhere)
    };
    assert_eq!(drops("mlx5", 0), FlowDrops::Own(100), "no other flow on the card");
    assert_eq!(drops("ixgbe-shared", 0), FlowDrops::AtMost(40), "the card's memory is for all");
    assert_eq!(drops("ena-apart", 0), FlowDrops::Own(70), "the other queue has too little");
    assert_eq!(drops("vmxnet3", 0), FlowDrops::Own(20), "the driver's sum alone");
    assert_eq!(drops("vmxnet3", 5), FlowDrops::Own(15), "the kernel's backlog was full");
}

/// Both ends of a veth pair; packets for 10.9.0.2 leave at one end and arrive at the other.
const PAIR: &str = "ip link add sw-a type veth peer name sw-b && ip addr add 10.9.0.1/24 dev sw-a && \
                    ip link set sw-b address 02:00:00:00:00:02 && ip link set sw-a up && \
                    ip link set sw-b up && \
                    ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev sw-a nud permanent";

#[test]
fn frames_that_an_xdp_program_drops_are_the_queues() {
    if !in_namespace("nic_counts::tests::frames_that_an_xdp_program_drops_are_the_queues", PAIR) {
        return;
    }
    let mut drops = Assembler::new();
    // XDP_DROP.
    drops.set(Register::R0, 1).exit();
    let program = match Program::load(ProgramKind::Xdp, "drops", &drops.finish()) {
        Ok(program) => program,
        Err(error) => return skip(format_args!("bpf(2) is refused: {error}")),
    };
    let index = interface_named("sw-b").unwrap().index;
    let _attached = Attachment::xdp(&program, index, XdpMode::Native).unwrap();
    let before = NicCounts::read("sw-b").unwrap();
    let socket = std::net::UdpSocket::bind("10.9.0.1:0").unwrap();
    for _ in 0..200 {
        assert_eq!(socket.send_to(&[7; 1_000], "10.9.0.2:9").unwrap(), 1_000);
    }
    // The driver takes frames from its ring soon after.
    let since = wait_for("all drops", PATIENCE, || {
        let since = NicCounts::read("sw-b").unwrap().since(&before).unwrap();
        (since.queues.first()?.drops? >= 200).then_some(since)
    });
    assert_eq!(since.shared_drops, 0);
    let flow = Flow { payload_bytes: 200_000, header_bytes: 42, slack_bytes: 1_000 };
    let FlowDrops::Own(dropped) = since.drops_of(&flow, 0) else { panic!("{since:?}") };
    // IPv6 announces itself on the interface.
    assert!((200..210).contains(&dropped), "{since:?}");
}

#[test]
fn loopback_counts_its_frames_and_drops_none() {
    let before = NicCounts::read("lo").unwrap();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(&[7; 1_000], socket.local_addr().unwrap()).unwrap();
    let since = NicCounts::read("lo").unwrap().since(&before).unwrap();
    assert!(since.frames >= 1 && since.bytes >= 1_028, "{since:?}");
    assert_eq!(since.shared_drops, 0);
    assert_eq!(NicCounts::read("no such").unwrap_err().raw_os_error(), Some(libc::ENODEV));
}
