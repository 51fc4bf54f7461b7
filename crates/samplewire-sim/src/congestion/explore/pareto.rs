//! Points that no other point beats in everything.

use super::Point;

/// The numbers of the points that lose nothing and that no other such point beats: that is at least as
/// good in utilisation, queue, fairness, join and leave times, and better in one.
pub fn pareto_front(points: &[Point]) -> Vec<usize> {
    let sound: Vec<&Point> = points.iter().filter(|point| point.dropped == 0).collect();
    let is_beaten = |point: &Point| sound.iter().any(|other| beats(other, point));
    sound.iter().filter(|point| !is_beaten(point)).map(|point| point.number).collect()
}

fn beats(a: &Point, b: &Point) -> bool {
    let (a, b) = (costs(a), costs(b));
    let mut pairs = a.iter().zip(&b);
    pairs.clone().all(|(a, b)| a <= b) && pairs.any(|(a, b)| a < b)
}

/// Lower is better in each.
fn costs(point: &Point) -> [f64; 5] {
    [-point.utilisation, point.queue_kb, -point.jain, point.join_ms, point.leave_ms]
}
