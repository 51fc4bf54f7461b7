//! Packet by packet: what the rules make of one loss.

use super::pair::{Pair, terms};
use crate::number::Nanos;
use crate::receiver::ReceiverConfig;

const RTT: Nanos = Nanos::from_micros(1_000);

/// The trace of `packets`, 50 us apart, of which the paths lose the given ones.
fn trace(packets: u64, data_lost: &[u64], reports_lost: &[u64]) -> String {
    let mut pair = Pair::new(1, terms(64, RTT), ReceiverConfig::new());
    pair.data_path.lost = data_lost.to_vec();
    pair.report_path.lost = reports_lost.to_vec();
    pair.to_push = packets;
    pair.interval = Nanos::from_micros(50);
    pair.start_trace();
    pair.run_to_end(Nanos::from_millis(1_000));
    pair.trace().to_owned()
}

#[test]
fn lost_packet_is_listed_twice_and_repeated_once() {
    let expected = "   1000 -> Mark 0
   1000 <- Report 1 released 0
   1500 -> Data 0
   1500 -> Data 1
   1500 -> Data 2 lost
   1500 -> Data 3
   1500 -> Data 4
   1500 -> Data 5
   1500 <- Report 2 released 0
   1625 -> Close 6
   1875 -> Close 6
   2000 <- Report 3 released 2 wants 2+1
   2020 <- Report 4 released 2 wants 2+1
   2125 <- Report 5 released 2
   2375 <- Report 6 released 2
   2500 -> Data 2 again
   3000 -> Close 6
   3000 <- CloseAck 6
   3249 -> Close 6
   3500 <- CloseAck 6
";
    assert_eq!(trace(6, &[3], &[]), expected);
}

#[test]
fn lost_last_packet_is_revealed_by_close() {
    let expected = "   1000 -> Mark 0
   1000 <- Report 1 released 0
   1500 -> Data 0
   1500 -> Data 1
   1500 -> Data 2 lost
   1500 <- Report 2 released 0
   1625 -> Close 3
   1875 -> Close 3
   2125 <- Report 3 released 2 wants 2+1
   2145 <- Report 4 released 2 wants 2+1
   2375 <- Report 5 released 2
   2625 -> Data 2 again
   3125 <- CloseAck 3
   3187 -> Close 3
   3437 -> Close 3
";
    assert_eq!(trace(3, &[3], &[]), expected);
}

#[test]
fn lost_request_is_made_good_by_the_second_listing() {
    let trace = trace(6, &[3], &[2]);
    assert!(trace.contains("wants 2+1 lost\n"), "{trace}");
    assert_eq!(trace.matches("Data 2 again").count(), 1);
    assert!(trace.contains("2520 -> Data 2 again"), "{trace}");
}

#[test]
fn lost_repeat_is_asked_for_again_a_round_trip_later() {
    let trace = trace(6, &[3, 9], &[]);
    assert!(trace.contains("2500 -> Data 2 again lost\n"), "{trace}");
    assert_eq!(trace.matches("Data 2 again").count(), 2);
    let second = trace.lines().filter(|line| line.contains("Data 2 again")).nth(1);
    let at_us: u64 =
        second.and_then(|line| line.split_whitespace().next()).unwrap().parse().unwrap();
    assert!(at_us <= 2_500 + 1_000 + 1_000, "{trace}");
}
