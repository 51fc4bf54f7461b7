// The streams of a device, and their channels as Soapy counts them.
#pragma once

#include "formats.hpp"
#include "sample_clock.hpp"

#include <samplewire.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace soapy_samplewire {

/// A stream of the device.
struct DeviceStream {
    sw_stream_info info;
    /// SOAPY_SDR_RX or SOAPY_SDR_TX.
    int direction;
    /// Soapy's number of its first channel.
    std::size_t first_channel;

    const Format &native() const { return format_of(info.format); }
    bool is_rate_known() const { return info.rate_numerator != 0 && info.rate_denominator != 0; }
};

/// The streams of a device. Channels of one direction are numbered through all streams of that
/// direction, in order.
class Channels {
  public:
    Channels() = default;
    /// Queries the device at `address`; throws if it does not answer within `timeout_ns`.
    Channels(const std::string &address, std::uint64_t timeout_ns);

    const std::vector<DeviceStream> &streams() const { return streams_; }
    std::size_t count(int direction) const;
    /// The stream of a channel; throws std::invalid_argument that lists the channels.
    const DeviceStream &of(int direction, std::size_t channel) const;

  private:
    std::vector<DeviceStream> streams_;
};

/// The current index, as the device reports it.
std::uint64_t index_now(const DeviceStream &stream, std::uint64_t timeout_ns);

} // namespace soapy_samplewire
