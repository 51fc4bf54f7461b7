// What a transmission came to, as readStreamStatus() tells it.
#pragma once

#include "sample_clock.hpp"

#include <samplewire.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace soapy_samplewire {

/// What happened, with its time.
struct TxEvent {
    /// 0 with END_BURST in `flags`, or an error of SoapySDR/Errors.h.
    int result;
    int flags;
    long long time_ns;
};

/// Makes events of a transmitter's counters:
///
/// - UNDERFLOW when the device has come to an index inside a burst that was not sent, with the time of
///   the first such index; once until it has samples again;
/// - TIME_ERROR when packets came after their time, with the time that the device had come to;
/// - the end of a burst when the device has played it, with the time after its last sample.
///
/// Threads may share it.
class TxEvents {
  public:
    /// A stream begins. Events that nobody has asked for stay.
    void begin(const sw_transmitter_stats &stats);
    /// A burst begins at `index`; samples before `index` of the last `sent` are with the device.
    void burst_begins(std::uint64_t index);
    void sent(std::uint64_t next_index);
    void burst_ends(std::uint64_t end_index);

    /// Looks at the counters. True when samples of the burst that goes on come too late.
    bool look(const sw_transmitter_stats &stats, const SampleClock &clock);
    /// The stream ended: the device has told how many samples were not there.
    void finish(const sw_transmitter_stats &stats, const SampleClock &clock);

    void tell(TxEvent event);
    /// The next, if one comes before `patience` is over.
    std::optional<TxEvent> next(std::chrono::nanoseconds patience);

  private:
    void tell_locked(TxEvent event);
    TxEvent event(int result, const SampleClock &clock, std::uint64_t index, int flags = 0) const;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<TxEvent> events_;
    std::deque<std::uint64_t> ends_;
    /// Where the burst that goes on began, and the index after what was sent of it.
    std::optional<std::uint64_t> burst_;
    std::uint64_t next_index_ = 0;
    std::uint64_t late_ = 0;
    bool is_under_ = false;
    bool has_told_underflow_ = false;
};

} // namespace soapy_samplewire
