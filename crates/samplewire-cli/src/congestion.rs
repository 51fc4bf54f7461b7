//! What a summary reports of congestion control.

use samplewire_proto::sender::SenderStats;

use crate::figures::{grouped, measured, span};

/// Notifications, cuts, and what the path allowed; `None` if nothing was marked.
pub(crate) fn congestion_words(stats: &SenderStats) -> Option<String> {
    if stats.congestion == 0 && stats.limited_ns == 0 {
        return None;
    }
    let (marked, cuts) = (grouped(stats.congestion), grouped(stats.cuts));
    let counts = format!("{marked} notifications, {cuts} cuts");
    Some(match stats.allowed_bps() {
        Some(bps) => format!(
            "{counts}; for {} the path allowed {}",
            span(stats.limited_ns as f64 / 1e9),
            measured(bps as f64, "b/s")
        ),
        None => counts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_the_rate_that_the_path_allowed() {
        let mut stats = SenderStats::default();
        assert_eq!(congestion_words(&stats), None);
        (stats.congestion, stats.cuts) = (7, 5);
        assert_eq!(congestion_words(&stats).as_deref(), Some("7 notifications, 5 cuts"));
        (stats.limited_ns, stats.limited_bytes) = (1_500_000_000, 187_500_000);
        let words = congestion_words(&stats).expect("it was limited");
        assert!(words.starts_with("7 notifications, 5 cuts; for 1.5"), "{words}");
        assert!(words.ends_with("the path allowed 1.00 Gb/s"), "{words}");
    }
}
