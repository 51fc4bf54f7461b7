//! Points that no other point beats in everything.

use std::cmp::Ordering;

use super::Point;

/// The numbers of the points that lose nothing and that no other such point beats: that is at least as
/// good in utilisation, queue, fairness, join and leave times, and better in one. They rise.
pub fn pareto_front(points: &[Point]) -> Vec<usize> {
    let mut sound: Vec<&Point> = points.iter().filter(|point| point.dropped == 0).collect();
    // By the first cost that differs, so that a point comes after every one that beats it; one of
    // these is on the front then.
    sound.sort_by(|a, b| {
        let orders = costs(a).into_iter().zip(costs(b)).map(|(a, b)| a.total_cmp(&b));
        orders.fold(Ordering::Equal, Ordering::then)
    });
    let mut front: Vec<&Point> = vec![];
    for point in sound {
        if !front.iter().any(|other| beats(other, point)) {
            front.push(point);
        }
    }
    let mut numbers: Vec<usize> = front.iter().map(|point| point.number).collect();
    numbers.sort_unstable();
    numbers
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
