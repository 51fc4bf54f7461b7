#include "tx_events.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <SoapySDR/Logger.hpp>

namespace soapy_samplewire {

namespace {

/// Maximum number of waiting events, and of ends of bursts; later ones are dropped.
constexpr std::size_t WAITING_MAX = 256;

} // namespace

void TxEvents::begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.clear();
    burst_.reset();
    is_behind_ = false;
    underflow_end_ = 0;
}

void TxEvents::burst_begins(std::uint64_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    burst_ = index;
    is_behind_ = false;
}

void TxEvents::burst_ends(std::uint64_t end_index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    burst_.reset();
    if (ends_.size() < WAITING_MAX) {
        ends_.push_back(end_index);
    }
}

bool TxEvents::look(const samplewire::transmitter &transmitter, const SampleClock &clock) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto happened = samplewire::detail::sized<sw_play_event>();
    while (sw_transmitter_next_event(transmitter.get(), 0, &happened) == SW_RESULT_OK) {
        is_behind_ |= take(happened, clock);
    }
    if (!ends_.empty()) {
        const std::uint64_t position = transmitter.stats().position_of_peer;
        for (; !ends_.empty() && ends_.front() <= position; ends_.pop_front()) {
            tell_locked(event(0, clock, ends_.front(), SOAPY_SDR_END_BURST));
        }
    }
    return is_behind_;
}

/// True if it belongs to the current burst.
bool TxEvents::take(const sw_play_event &happened, const SampleClock &clock) {
    switch (happened.kind) {
    case SW_PLAY_EVENT_KIND_LATE:
        SoapySDR::log(SOAPY_SDR_SSI, "L");
        tell_locked(event(SOAPY_SDR_TIME_ERROR, clock, happened.index));
        break;
    case SW_PLAY_EVENT_KIND_UNDERFLOW:
        // A long underflow is reported in pieces.
        if (happened.index != underflow_end_) {
            SoapySDR::log(SOAPY_SDR_SSI, "U");
            tell_locked(event(SOAPY_SDR_UNDERFLOW, clock, happened.index));
        }
        underflow_end_ = happened.end_index;
        break;
    default: return false;
    }
    return burst_ && happened.end_index > *burst_;
}

void TxEvents::finish(const samplewire::transmitter &transmitter, const SampleClock &clock) {
    look(transmitter, clock);
    const std::lock_guard<std::mutex> lock(mutex_);
    // The device reported everything as played before the end was requested.
    for (; !ends_.empty(); ends_.pop_front()) {
        tell_locked(event(0, clock, ends_.front(), SOAPY_SDR_END_BURST));
    }
}

void TxEvents::push(TxEvent event) {
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
