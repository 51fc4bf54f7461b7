#include "sensors.hpp"

#include "sensor_tables.hpp"

#include <SoapySDR/Constants.h>

#include <stdexcept>

namespace soapy_samplewire {

namespace {

/// Of samples missing, by cause.
constexpr const char *MISSING[] = {
    "missing_source_overflow", "missing_deadline", "missing_gone_at_sender", "missing_never_asked",
    "missing_receiver_behind",
};

/// Calls `work` with name, units and description of each sensor.
template <class Work> void each(int direction, Work work) {
    if (direction == SOAPY_SDR_RX) {
        for (const auto &counter : RECEIVED) {
            work(counter.name, counter.units, counter.description);
        }
        for (std::uint32_t cause = 0; cause < std::size(MISSING); cause++) {
            work(MISSING[cause], "samples", sw_cause_str(cause));
        }
    } else {
        for (const auto &counter : SENT) {
            work(counter.name, counter.units, counter.description);
        }
    }
}

} // namespace

std::vector<std::string> sensor_names(int direction) {
    std::vector<std::string> names;
    each(direction, [&](const char *name, const char *, const char *) { names.emplace_back(name); });
    return names;
}

SoapySDR::ArgInfo sensor_info(int direction, const std::string &name) {
    SoapySDR::ArgInfo info;
    each(direction, [&](const char *known, const char *units, const char *description) {
        if (name == known) {
            info.key = info.name = known;
            info.units = units;
            info.description = description;
            info.value = "0";
            info.type = SoapySDR::ArgInfo::INT;
        }
    });
    if (info.key.empty()) {
        throw std::invalid_argument("there is no sensor \"" + name + "\": see listSensors()");
    }
    return info;
}

Readings readings(const sw_receiver_stats &stats) {
    Readings values;
    for (const auto &counter : RECEIVED) {
        values[counter.name] = stats.*counter.field;
    }
    for (std::size_t cause = 0; cause < std::size(MISSING); cause++) {
        values[MISSING[cause]] = stats.gap_samples[cause];
    }
    return values;
}

Readings readings(const sw_transmitter_stats &stats) {
    Readings values;
    for (const auto &counter : SENT) {
        values[counter.name] = stats.*counter.field;
    }
    return values;
}

} // namespace soapy_samplewire
