// The events of a transmission, as readStreamStatus() returns them.
#pragma once

#include "sample_clock.hpp"

#include <samplewire.hpp>

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

/// Converts a transmitter's events to Soapy's:
///
/// - UNDERFLOW for samples missing at their time, with the time of the first; once until
///   the device has samples again;
/// - TIME_ERROR for packets that came after their time, with the time of the first sample that may be
///   one of theirs;
/// - the end of a burst when the device has played it, with the time after its last sample.
///
/// Threads may share it.
class TxEvents {
  public:
    /// Begins a stream. Events that were not read stay.
    void begin();
    void burst_begins(std::uint64_t index);
    void burst_ends(std::uint64_t end_index);

    /// Takes the events. True if samples of the current burst came too late, whichever call saw it
    /// first.
    bool look(const samplewire::transmitter &transmitter, const SampleClock &clock);
    /// Ends the stream after the device has played everything.
    void finish(const samplewire::transmitter &transmitter, const SampleClock &clock);

    void push(TxEvent event);
    /// The next event, if one comes within `patience`.
    std::optional<TxEvent> next(std::chrono::nanoseconds patience);

  private:
    void tell_locked(TxEvent event);
    bool take(const sw_play_event &happened, const SampleClock &clock);
    TxEvent event(int result, const SampleClock &clock, std::uint64_t index, int flags = 0) const;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<TxEvent> events_;
    std::deque<std::uint64_t> ends_;
    /// The start of the current burst.
    std::optional<std::uint64_t> burst_;
    /// Samples of it came too late.
    bool is_behind_ = false;
    /// The end of the last reported underflow.
    std::uint64_t underflow_end_ = 0;
};

} // namespace soapy_samplewire
