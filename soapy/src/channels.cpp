#include "channels.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Logger.hpp>

#include <stdexcept>

namespace soapy_samplewire {

namespace {

/// Streams of a device that are looked at.
constexpr std::uint32_t STREAMS_MAX = 64;

sw_stream_info probed(const std::string &address, std::uint32_t stream, std::uint64_t timeout_ns) {
    return samplewire::probe(address, static_cast<std::uint16_t>(stream),
                             std::chrono::nanoseconds(timeout_ns));
}

/// A description does not say which way a stream goes (docs/protocol.md#3.13), a refusal does: a
/// device refuses to send one that it takes (#3.11, role), and one that it sends at an index that
/// cannot be (start index). So nothing is opened.
int direction_of(const std::string &address, std::uint32_t stream, std::uint64_t timeout_ns) {
    samplewire::receiver_options options;
    options.stream = static_cast<std::int32_t>(stream);
    options.start_index = SampleClock::INDEX_MAX - 1;
    options.timeout_ns = timeout_ns;
    try {
        const samplewire::receiver opened(address, options);
        return SOAPY_SDR_RX;
    } catch (const samplewire::error &refusal) {
        switch (refusal.result()) {
        case SW_RESULT_REFUSED_ROLE: return SOAPY_SDR_TX;
        case SW_RESULT_REFUSED_START_INDEX: return SOAPY_SDR_RX;
        case SW_RESULT_REFUSED_BUSY:
            SoapySDR::logf(SOAPY_SDR_WARNING,
                           "Samplewire %s: stream %u is open elsewhere; it is taken for one that "
                           "the device sends",
                           address.c_str(), stream);
            return SOAPY_SDR_RX;
        default: throw;
        }
    }
}

} // namespace

Channels::Channels(const std::string &address, std::uint64_t timeout_ns) {
    std::uint32_t count = 1;
    std::size_t next[2] = {0, 0};
    for (std::uint32_t stream = 0; stream < count; stream++) {
        const sw_stream_info info = probed(address, stream, timeout_ns);
        if (info.streams > STREAMS_MAX) {
            SoapySDR::logf(SOAPY_SDR_WARNING, "Samplewire %s: of %u streams the first %u are used",
                           address.c_str(), info.streams, STREAMS_MAX);
        }
        count = std::min(info.streams, STREAMS_MAX);
        format_of(info.format);
        const int direction = direction_of(address, stream, timeout_ns);
        streams_.push_back({info, direction, next[direction]});
        next[direction] += info.channels;
    }
}

std::size_t Channels::count(int direction) const {
    std::size_t count = 0;
    for (const DeviceStream &stream : streams_) {
        count += stream.direction == direction ? stream.info.channels : 0;
    }
    return count;
}

const DeviceStream &Channels::of(int direction, std::size_t channel) const {
    for (const DeviceStream &stream : streams_) {
        if (stream.direction == direction && channel >= stream.first_channel &&
            channel - stream.first_channel < stream.info.channels) {
            return stream;
        }
    }
    throw std::invalid_argument(
        std::string(direction == SOAPY_SDR_RX   ? "receive"
                    : direction == SOAPY_SDR_TX ? "transmit"
                                                : "direction " + std::to_string(direction)) +
        " channel " + std::to_string(channel) + " is not one of the device's " +
        std::to_string(count(direction)));
}

std::uint64_t index_now(const DeviceStream &stream, std::uint64_t timeout_ns) {
    return probed(stream.info.address, stream.info.stream, timeout_ns).first_index;
}

} // namespace soapy_samplewire
