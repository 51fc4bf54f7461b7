// The counters of a stream as sensors of its channels; docs/statistics.md says what they mean.
#pragma once

#include <SoapySDR/Types.hpp>
#include <samplewire.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace soapy_samplewire {

using Readings = std::map<std::string, std::uint64_t>;

/// The sensors of a direction.
std::vector<std::string> sensor_names(int direction);
/// Throws std::invalid_argument where there is none of that name.
SoapySDR::ArgInfo sensor_info(int direction, const std::string &name);

Readings readings(const sw_receiver_stats &stats);
Readings readings(const sw_transmitter_stats &stats);

} // namespace soapy_samplewire
