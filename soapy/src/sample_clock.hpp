// Sample indexes as times: an index is an instant, and index 0 is time 0 unless a program said else.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

namespace soapy_samplewire {

/// The rate of a stream as an exact fraction, and the time of index 0. Time and index go into each
/// other without loss up to 1 GHz: both are rounded to the nearest.
class SampleClock {
  public:
    /// `zero_ns`, the time of index 0, may change, and must outlive this.
    SampleClock(std::uint64_t numerator, std::uint32_t denominator,
                const std::atomic<long long> &zero_ns)
        : numerator_(denominator == 0 ? 0 : numerator), denominator_(denominator),
          zero_ns_(&zero_ns) {}

    /// Without a rate there are no times.
    bool is_known() const { return numerator_ != 0; }

    double rate_hz() const {
        return is_known() ? static_cast<double>(numerator_) / denominator_ : 0.0;
    }

    /// Nanoseconds; 0 where the rate is not known.
    long long time_ns(std::uint64_t index) const {
        if (!is_known()) {
            return 0;
        }
        const Wide ns = (Wide(index) * denominator_ * NS_PER_S + numerator_ / 2) / numerator_;
        const auto max = std::numeric_limits<long long>::max();
        long long time_ns = 0;
        const bool is_far = ns > Wide(max) ||
                            __builtin_add_overflow(static_cast<long long>(ns), zero(), &time_ns);
        return is_far ? max : time_ns;
    }

    /// Nothing for a time before index 0, one after all indexes, or without a rate.
    std::optional<std::uint64_t> index(long long time_ns) const {
        long long since_ns = 0;
        if (!is_known() || __builtin_sub_overflow(time_ns, zero(), &since_ns) || since_ns < 0) {
            return std::nullopt;
        }
        const Wide unit = Wide(denominator_) * NS_PER_S;
        const Wide index = (Wide(since_ns) * numerator_ + unit / 2) / unit;
        if (index >= INDEX_MAX) {
            return std::nullopt;
        }
        return static_cast<std::uint64_t>(index);
    }

    /// How many samples that takes, rounded up.
    std::uint64_t samples_in(std::uint64_t span_ns) const {
        const Wide unit = Wide(denominator_) * NS_PER_S;
        return is_known() ? static_cast<std::uint64_t>((Wide(span_ns) * numerator_ + unit - 1) / unit)
                          : 0;
    }

    /// The last index of the protocol (docs/protocol.md#1).
    static constexpr std::uint64_t INDEX_MAX = std::uint64_t(1) << 63;

  private:
    __extension__ typedef unsigned __int128 Wide;
    static constexpr std::uint32_t NS_PER_S = 1'000'000'000;

    /// Relaxed: it orders nothing.
    long long zero() const { return zero_ns_->load(std::memory_order_relaxed); }

    std::uint64_t numerator_;
    std::uint32_t denominator_;
    const std::atomic<long long> *zero_ns_;
};

} // namespace soapy_samplewire
