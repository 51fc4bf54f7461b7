//! Any text is the metadata of a recording or refused with a short reason; what is read is within
//! the ranges that the fields state.

use samplewire_record::sigmf::Metadata;

/// Reads `bytes` as metadata where they are text.
///
/// # Panics
/// When what is read breaks its own rules.
pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let metadata = match Metadata::parse(text) {
        Ok(metadata) => metadata,
        Err(error) => {
            assert!(error.to_string().len() <= REASON_BYTES_MAX + text.len(), "{error}");
            return;
        }
    };
    assert!(metadata.channels > 0);
    assert!(metadata.rate_hz.is_none_or(|rate_hz| rate_hz > 0.0 && rate_hz <= 1e12));
    let is_hash = |hash: &String| {
        hash.len() == 128 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    assert!(metadata.sha512.as_ref().is_none_or(is_hash));
    let stays_beside =
        |name: &String| !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    assert!(metadata.dataset.as_ref().is_none_or(stays_beside), "{:?}", metadata.dataset);
    let mut least = metadata.offset;
    for capture in &metadata.captures {
        assert!(capture.sample_start >= least);
        least = capture.sample_start;
    }
    let count = least - metadata.offset;
    assert!(metadata.check_length(count).is_ok(), "the captures lie in so many samples");
    assert!(metadata.check_length(u64::MAX).is_ok());
    if let Some(fewer) = count.checked_sub(1) {
        assert!(metadata.check_length(fewer).is_err());
    }
}

/// What a reason says beside the text that it quotes.
const REASON_BYTES_MAX: usize = 400;
