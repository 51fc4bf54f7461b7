// What a transmission came to, as readStreamStatus() tells it.
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

/// Makes Soapy's events of a transmitter's:
///
/// - UNDERFLOW for samples that were not there at their time, with the time of the first; once until
///   the device has samples again;
/// - TIME_ERROR for packets that came after their time, with the time of the first sample that may be
///   one of theirs;
/// - the end of a burst when the device has played it, with the time after its last sample.
///
/// Threads may share it.
class TxEvents {
  public:
    /// A stream begins. Events that nobody has asked for stay.
    void begin();
    void burst_begins(std::uint64_t index);
    void burst_ends(std::uint64_t end_index);

    /// Looks at what happened. True when samples of the burst that goes on came too late, whichever
    /// call saw it first.
    bool look(const samplewire::transmitter &transmitter, const SampleClock &clock);
    /// The stream ended after the device had played all.
    void finish(const samplewire::transmitter &transmitter, const SampleClock &clock);

    void tell(TxEvent event);
    /// The next, if one comes before `patience` is over.
    std::optional<TxEvent> next(std::chrono::nanoseconds patience);

  private:
    void tell_locked(TxEvent event);
    bool take(const sw_play_event &happened, const SampleClock &clock);
    TxEvent event(int result, const SampleClock &clock, std::uint64_t index, int flags = 0) const;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<TxEvent> events_;
    std::deque<std::uint64_t> ends_;
    /// Where the burst that goes on began.
    std::optional<std::uint64_t> burst_;
    /// Samples of it came too late.
    bool is_behind_ = false;
    /// Where an underflow that was told had come to.
    std::uint64_t underflow_end_ = 0;
};

} // namespace soapy_samplewire
