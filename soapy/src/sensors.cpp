#include "sensors.hpp"

#include <SoapySDR/Constants.h>

#include <stdexcept>

namespace soapy_samplewire {

namespace {

template <class Stats> struct Counter {
    const char *name;
    std::uint64_t Stats::*field;
    const char *units;
    const char *description;
};

constexpr Counter<sw_receiver_stats> RECEIVED[] = {
    {"received", &sw_receiver_stats::received, "packets", "DATA with a right CRC"},
    {"delivered", &sw_receiver_stats::delivered, "packets", "delivered in order"},
    {"samples_delivered", &sw_receiver_stats::samples_delivered, "samples", "delivered"},
    {"samples_missing", &sw_receiver_stats::samples_missing, "samples", "missing, of every cause"},
    {"gaps", &sw_receiver_stats::gaps, "", "gap events"},
    {"repaired", &sw_receiver_stats::repaired, "packets", "missing, and came as a repeat"},
    {"reordered", &sw_receiver_stats::reordered, "packets", "missing, and came by themselves"},
    {"duplicates", &sw_receiver_stats::duplicates, "packets", "that were there already"},
    {"late", &sw_receiver_stats::late, "packets", "came after they had been given up"},
    {"skipped", &sw_receiver_stats::skipped, "packets", "given up"},
    {"beyond_credit", &sw_receiver_stats::beyond_credit, "packets", "beyond the credit, dropped"},
    {"marked", &sw_receiver_stats::marked, "packets", "with congestion experienced"},
    {"reports", &sw_receiver_stats::reports, "packets", "REPORTs sent"},
    {"ranges", &sw_receiver_stats::ranges, "", "ranges asked for again"},
    {"source_lost", &sw_receiver_stats::source_lost, "samples", "lost at the source"},
    {"corrupted", &sw_receiver_stats::corrupted, "packets", "whose CRC was wrong"},
    {"foreign", &sw_receiver_stats::foreign, "packets", "not of this stream"},
    {"socket_dropped", &sw_receiver_stats::socket_dropped, "packets", "dropped by the socket"},
    {"starved", &sw_receiver_stats::starved, "", "times the sender had no credit left"},
    {"rtt_ns", &sw_receiver_stats::rtt_ns, "ns", "smoothed round-trip time"},
    {"credit", &sw_receiver_stats::credit, "packets", "that the sender may still send"},
    {"window", &sw_receiver_stats::window, "packets", "on their way or awaiting repair, at most"},
};

constexpr Counter<sw_transmitter_stats> SENT[] = {
    {"packets", &sw_transmitter_stats::packets, "packets", "departed for the first time"},
    {"retransmissions", &sw_transmitter_stats::retransmissions, "packets", "departed again"},
    {"bytes", &sw_transmitter_stats::bytes, "bytes", "of UDP payload in DATA"},
    {"reports", &sw_transmitter_stats::reports, "packets", "REPORTs acted on"},
    {"credit_stalls", &sw_transmitter_stats::credit_stalls, "", "times data waited for credit"},
    {"budget_stalls", &sw_transmitter_stats::budget_stalls, "", "times a repeat waited"},
    {"congestion", &sw_transmitter_stats::congestion, "", "congestion notifications"},
    {"received_by_peer", &sw_transmitter_stats::received_by_peer, "packets", "that the device has"},
    {"skipped_by_peer", &sw_transmitter_stats::skipped_by_peer, "packets", "it has given up"},
    {"late_at_peer", &sw_transmitter_stats::late_at_peer, "packets", "that came after their time"},
    {"position_of_peer", &sw_transmitter_stats::position_of_peer, "samples", "index that it plays"},
    {"underflow_at_peer", &sw_transmitter_stats::underflow_at_peer, "samples",
     "not there at their time; the device says so at the end"},
    {"corrupted", &sw_transmitter_stats::corrupted, "packets", "whose CRC was wrong"},
    {"foreign", &sw_transmitter_stats::foreign, "packets", "not of the protocol"},
    {"rtt_ns", &sw_transmitter_stats::rtt_ns, "ns", "smoothed round-trip time"},
    {"credit", &sw_transmitter_stats::credit, "packets", "that may depart at present"},
    {"held", &sw_transmitter_stats::held, "packets", "not accounted for by the device"},
    {"window", &sw_transmitter_stats::window, "packets", "that may be held"},
};

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
