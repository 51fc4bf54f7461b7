// What a device has: its streams, and their channels as Soapy counts them.
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

/// The streams of a device. Channels of one direction are counted through all streams that go that
/// way, in their order.
class Channels {
  public:
    Channels() = default;
    /// Asks the device at `address`; throws when it does not answer in `timeout_ns`.
    Channels(const std::string &address, std::uint64_t timeout_ns);

    const std::vector<DeviceStream> &streams() const { return streams_; }
    std::size_t count(int direction) const;
    /// The stream of a channel; throws std::invalid_argument, and says which there are.
    const DeviceStream &of(int direction, std::size_t channel) const;

  private:
    std::vector<DeviceStream> streams_;
};

/// The index that the device has come to, as it says.
std::uint64_t index_now(const DeviceStream &stream, std::uint64_t timeout_ns);

} // namespace soapy_samplewire
