#include "tx_events.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <SoapySDR/Logger.hpp>

namespace soapy_samplewire {

namespace {

/// Events, and ends of bursts, that wait to be asked for; later ones are left out.
constexpr std::size_t WAITING_MAX = 256;

} // namespace

void TxEvents::begin(const sw_transmitter_stats &stats) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.clear();
    burst_.reset();
    late_ = stats.late_at_peer;
    is_under_ = has_told_underflow_ = false;
}

void TxEvents::burst_begins(std::uint64_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    burst_ = next_index_ = index;
    is_under_ = false;
}

void TxEvents::sent(std::uint64_t next_index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    next_index_ = next_index;
}

void TxEvents::burst_ends(std::uint64_t end_index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    burst_.reset();
    if (ends_.size() < WAITING_MAX) {
        ends_.push_back(end_index);
    }
}

bool TxEvents::look(const sw_transmitter_stats &stats, const SampleClock &clock) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::uint64_t position = stats.position_of_peer;
    bool is_behind = false;
    if (burst_ && position > *burst_ && position > next_index_) {
        if (!is_under_) {
            has_told_underflow_ = true;
            SoapySDR::log(SOAPY_SDR_SSI, "U");
            tell_locked(event(SOAPY_SDR_UNDERFLOW, clock, next_index_));
        }
        is_under_ = is_behind = true;
    } else {
        is_under_ = false;
    }
    if (stats.late_at_peer != late_) {
        late_ = stats.late_at_peer;
        is_behind = true;
        SoapySDR::log(SOAPY_SDR_SSI, "L");
        tell_locked(event(SOAPY_SDR_TIME_ERROR, clock, position));
    }
    while (!ends_.empty() && ends_.front() <= position) {
        tell_locked(event(0, clock, ends_.front(), SOAPY_SDR_END_BURST));
        ends_.pop_front();
    }
    return is_behind;
}

void TxEvents::finish(const sw_transmitter_stats &stats, const SampleClock &clock) {
    look(stats, clock);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stats.underflow_at_peer > 0 && !has_told_underflow_) {
        SoapySDR::log(SOAPY_SDR_SSI, "U");
        tell_locked(event(SOAPY_SDR_UNDERFLOW, clock, stats.position_of_peer));
    }
    // The device said that it has played all before it was asked to end.
    for (; !ends_.empty(); ends_.pop_front()) {
        tell_locked(event(0, clock, ends_.front(), SOAPY_SDR_END_BURST));
    }
}

void TxEvents::tell(TxEvent event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tell_locked(event);
}

void TxEvents::tell_locked(TxEvent event) {
    if (events_.size() < WAITING_MAX) {
        events_.push_back(event);
        changed_.notify_one();
    }
}

std::optional<TxEvent> TxEvents::next(std::chrono::nanoseconds patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return !events_.empty(); })) {
        return std::nullopt;
    }
    const TxEvent event = events_.front();
    events_.pop_front();
    return event;
}

TxEvent TxEvents::event(int result, const SampleClock &clock, std::uint64_t index, int flags) const {
    return {result, flags | (clock.is_known() ? SOAPY_SDR_HAS_TIME : 0), clock.time_ns(index)};
}

} // namespace soapy_samplewire
