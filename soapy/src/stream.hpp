// A stream as Soapy knows it: calls that return a count or an error of SoapySDR/Errors.h.
#pragma once

#include "channels.hpp"
#include "sensors.hpp"
#include "settings.hpp"
#include "turns.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Device.hpp>
#include <SoapySDR/Errors.h>
#include <SoapySDR/Logger.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>

namespace soapy_samplewire {

/// How Soapy's calls mean a timeout; more than a year is a year.
inline Steady::time_point until(long timeout_us) {
    constexpr std::chrono::microseconds LONGEST = std::chrono::hours(24 * 365);
    return Steady::now() +
           std::clamp(std::chrono::microseconds(timeout_us), std::chrono::microseconds(0), LONGEST);
}

inline std::chrono::nanoseconds left(Steady::time_point until) {
    return std::max(std::chrono::nanoseconds(until - Steady::now()), std::chrono::nanoseconds(0));
}

/// What the stream of a program is opened with, apart from what only one direction needs.
struct StreamTerms {
    const DeviceStream &stream;
    const Format &format;
    /// Positions in the device's stream.
    std::vector<std::size_t> picked;
    Settings settings;
    SampleClock clock;
};

/// Any thread may call it. Calls take turns, status(), sensors() and carriage() apart; activate(),
/// deactivate() and leave() make those give way that wait for samples or room.
class Stream {
  public:
    explicit Stream(StreamTerms terms)
        : terms_(std::move(terms)),
          shuffle_(terms_.stream.native(), terms_.format, terms_.stream.info.channels,
                   terms_.picked) {}
    virtual ~Stream() = default;
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;

    const StreamTerms &terms() const { return terms_; }

    /// Samples of a call that costs little: 64 KiB on the wire, and a packet at least.
    std::size_t mtu() const {
        const sw_stream_info &info = terms_.stream.info;
        return std::max<std::size_t>(info.packet_samples, 65'536 / info.sample_bytes);
    }
    std::size_t direct_buffers() const { return shuffle_.is_plain() ? DIRECT_BUFFERS : 0; }

    virtual int activate(int flags, long long time_ns, std::size_t count) = 0;
    virtual int deactivate(int flags, long long time_ns) = 0;
    /// Ends it where it is active.
    void leave() { deactivate(0, 0); }
    virtual Readings sensors() const = 0;
    /// How packets that come travel; nothing while none do.
    virtual std::optional<sw_carriage> carriage() const { return std::nullopt; }

    virtual int read(void *const *, std::size_t, int &, long long &, long) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    virtual int write(const void *const *, std::size_t, int &, long long, long) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    virtual int status(std::size_t &, int &, long long &, long) { return SOAPY_SDR_NOT_SUPPORTED; }
    virtual int acquire_read(std::size_t &, const void **, int &, long long &, long) {
        return SOAPY_SDR_NOT_SUPPORTED;
    }
    virtual void release_read(std::size_t) {}
    virtual int acquire_write(std::size_t &, void **, long) { return SOAPY_SDR_NOT_SUPPORTED; }
    virtual void release_write(std::size_t, std::size_t, int &, long long) {}

  protected:
    static constexpr std::size_t DIRECT_BUFFERS = 32;
    /// How long a call waits before it looks whether another wants the turn.
    static constexpr std::chrono::nanoseconds PATIENCE = std::chrono::milliseconds(20);

    /// Throws where the device that was opened now is not as it was when the program asked: all
    /// memory has the sizes of then.
    void check_is_as_described(const sw_stream_info &opened) const {
        const sw_stream_info &info = terms_.stream.info;
        if (opened.format != info.format || opened.channels != info.channels ||
            opened.sample_bytes != info.sample_bytes ||
            opened.rate_numerator != info.rate_numerator ||
            opened.rate_denominator != info.rate_denominator) {
            throw std::runtime_error("the device has other channels, another format or another rate "
                                     "than when it was made: make it again");
        }
    }

    /// Says what went wrong; the result is that of the call.
    int failed(const char *what, const char *why) const {
        const sw_stream_info &info = terms_.stream.info;
        SoapySDR::logf(SOAPY_SDR_ERROR, "Samplewire %s stream %u: %s: %s", info.address,
                       info.stream, what, why);
        return SOAPY_SDR_STREAM_ERROR;
    }

    /// A call that has nothing to do until its time is over.
    int wait(Steady::time_point until, int result) {
        turns_.rest(until);
        return result;
    }
    /// Whether a call that waits in pieces of `PATIENCE` has to end.
    bool must_return(Steady::time_point until) {
        return left(until).count() == 0 || turns_.is_wanted();
    }

    bool are_missing(const void *const *buffers) const {
        bool missing = buffers == nullptr;
        for (std::size_t i = 0; !missing && i < terms_.picked.size(); i++) {
            missing = buffers[i] == nullptr;
        }
        return missing;
    }

    const StreamTerms terms_;
    Shuffle shuffle_;
    Turns turns_;
};

} // namespace soapy_samplewire
