#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace soapy_samplewire {

namespace {

struct Known {
    const char *key;
    const char *name;
    const char *units;
    const char *value;
    const char *description;
    /// Of a number; both 0: a word.
    std::uint64_t min;
    std::uint64_t max;
};

constexpr Known KNOWN[] = {
    {"delivery", "Delivery", "", "complete",
     "complete: nothing is skipped that the sender still holds; deadline: a packet is given up "
     "after deadline_us; best-effort: nothing is asked for again",
     0, 0},
    {"deadline_us", "Deadline", "us", "0", "how long a packet may be missing, with delivery=deadline",
     0, 30'000'000},
    {"window", "Window", "packets", "1024",
     "packets that may be on the way or wait for a repair; memory is window times payload", 1,
     1 << 24},
    {"mtu_bytes", "MTU", "bytes", "9000", "the largest IP packet to ask for", 576, 9000},
    {"link", "Link", "", "udp",
     "udp: packets pass the kernel; xdp: they bypass it by AF_XDP, in the driver if it can; xdp-generic: in "
     "the kernel's generic path; auto: where the driver needs no copy",
     0, 0},
    {"interface", "Interface", "", "",
     "the network interface that all packets come and leave by, such as eth1, where several are in one "
     "network; empty: the one to which the route points",
     0, 0},
    {"carriage", "Carriage", "", "data",
     "reception: data: packets of the stream protocol; rdma: written into slots of this host by RoCEv2, if "
     "the device has that too",
     0, 0},
    {"verbs", "RDMA card", "", "",
     "reception, with carriage=rdma: the RDMA network card that writes the packets into memory, such as "
     "mlx5_0; empty: software receives them",
     0, 0},
    {"lead_ms", "Lead", "ms", "100",
     "transmission: how far ahead of the device a burst without a time begins", 0, 60'000},
    {"finish_ms", "Finish", "ms", "5000",
     "transmission: how long deactivation waits for what was sent to be played", 0, 86'400'000},
    {"timeout_ms", "Timeout", "ms", "3000", "how long to try to open a stream", 1, 3'600'000},
    {"control", "Congestion control", "", "dcqcn",
     "transmission: dcqcn: ECN marks of congestion cut the rate, which rises again without them; "
     "fixed: departures keep to control_rate; none: marks are counted",
     0, 0},
    {"control_rate", "Control rate", "b/s", "0",
     "transmission: the rate of control=fixed, or the one that dcqcn starts at if the device's sample "
     "rate is unknown; 0: none",
     0, 1'000'000'000'000},
};

/// A key as the command names it, without a unit.
struct Alias {
    const char *name;
    const char *key;
    /// Of the key, where the value is a time as `5ms`; 0: a number.
    std::uint64_t unit_ns;
};

constexpr Alias ALIASES[] = {
    {"mtu", "mtu_bytes", 0},
    {"lead", "lead_ms", 1'000'000},
    {"finish", "finish_ms", 1'000'000},
    {"timeout", "timeout_ms", 1'000'000},
};

const Alias *alias_of(const std::string &key) {
    const auto *found = std::find_if(std::begin(ALIASES), std::end(ALIASES),
                                     [&](const Alias &it) { return key == it.name; });
    return found == std::end(ALIASES) ? nullptr : found;
}

/// The time in `text`, in whole units.
std::string units_in(const std::string &key, const std::string &text, std::uint64_t unit_ns) {
    std::uint64_t time_ns = 0;
    if (sw_time_parse(text.c_str(), &time_ns) != SW_RESULT_OK) {
        throw std::invalid_argument(key + "=" + text + ": " + sw_last_error());
    }
    return std::to_string(time_ns / unit_ns);
}

/// How many letters must be inserted, removed or replaced.
std::size_t distance(const std::string &one, const std::string &other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < one.size(); i++) {
        std::size_t before = row[0]++;
        for (std::size_t j = 0; j < other.size(); j++) {
            const std::size_t replaced = before + (one[i] == other[j] ? 0 : 1);
            before = row[j + 1];
            row[j + 1] = std::min({replaced, before + 1, row[j] + 1});
        }
    }
    return row.back();
}

constexpr const char *DELIVERIES[] = {"complete", "deadline", "best-effort"};
constexpr const char *CONTROLS[] = {"none", "fixed", "dcqcn"};
constexpr const char *LINKS[] = {"udp", "auto", "xdp", "xdp-generic"};
constexpr const char *CARRIAGES[] = {"data", "rdma"};

/// The place of `value` among names; throws with all of them.
template <std::size_t Count>
std::uint32_t place(const std::string &key, const std::string &value, const char *const (&names)[Count]) {
    std::string all;
    for (std::size_t at = 0; at < Count; ++at) {
        if (value == names[at]) {
            return static_cast<std::uint32_t>(at);
        }
        all += std::string(all.empty() ? "" : ", ") + names[at];
    }
    throw std::invalid_argument(key + "=" + value + " is none of " + all);
}

/// The control of a name, which must fit its rate; throws with the library's words.
std::uint32_t control_number(const std::string &name, std::uint64_t rate_bps) {
    std::uint32_t number = 0;
    if (sw_control_parse(name.c_str(), rate_bps, &number) != SW_RESULT_OK) {
        throw std::invalid_argument(sw_last_error());
    }
    return number;
}

const Known &known(const std::string &key) {
    std::string keys;
    for (const Known &it : KNOWN) {
        if (key == it.key) {
            return it;
        }
        keys += std::string(keys.empty() ? "" : ", ") + it.key;
    }
    throw std::invalid_argument("there is no setting \"" + key + "\": there are " + keys +
                                Settings::hint(key));
}

std::uint64_t number(const Known &of, const std::string &value) {
    std::uint64_t number = 0;
    const char *end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || at != end || number < of.min || number > of.max) {
        throw std::invalid_argument(std::string(of.key) + "=" + value + " is not a number of " +
                                    of.units + " in " + std::to_string(of.min) + ".." +
                                    std::to_string(of.max));
    }
    return number;
}

} // namespace

SoapySDR::ArgInfoList Settings::info() {
    SoapySDR::ArgInfoList list;
    for (const Known &it : KNOWN) {
        SoapySDR::ArgInfo info;
        info.key = it.key;
        info.name = it.name;
        info.value = it.value;
        info.description = it.description;
        info.units = it.units;
        if (it.max == 0) {
            info.type = SoapySDR::ArgInfo::STRING;
            if (info.key == "control") {
                info.options.assign(std::begin(CONTROLS), std::end(CONTROLS));
            } else if (info.key == "link") {
                info.options.assign(std::begin(LINKS), std::end(LINKS));
            } else if (info.key == "carriage") {
                info.options.assign(std::begin(CARRIAGES), std::end(CARRIAGES));
            } else if (info.key == "delivery") {
                info.options.assign(std::begin(DELIVERIES), std::end(DELIVERIES));
            }
        } else {
            info.type = SoapySDR::ArgInfo::INT;
            info.range = {static_cast<double>(it.min), static_cast<double>(it.max)};
        }
        list.push_back(info);
    }
    return list;
}

bool Settings::is_known(const std::string &key) {
    return alias_of(key) != nullptr || std::any_of(std::begin(KNOWN), std::end(KNOWN),
                                                   [&](const Known &it) { return key == it.key; });
}

std::string Settings::hint(const std::string &key) {
    std::string nearest;
    std::size_t least = 3;
    const auto look = [&](const char *name) {
        const std::size_t edits = distance(key, name);
        if (edits < least && edits < key.size()) {
            least = edits;
            nearest = name;
        }
    };
    look("addr");
    for (const Known &it : KNOWN) {
        look(it.key);
    }
    for (const Alias &it : ALIASES) {
        look(it.name);
    }
    return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
}

void Settings::set(const std::string &key, const std::string &value) {
    if (const Alias *alias = alias_of(key)) {
        return set(alias->key, alias->unit_ns == 0 ? value : units_in(key, value, alias->unit_ns));
    }
    constexpr const char DEADLINE[] = "deadline:";
    if (key == "delivery" && value.rfind(DEADLINE, 0) == 0) {
        set("deadline_us", units_in("deadline", value.substr(sizeof(DEADLINE) - 1), 1000));
        return set(key, "deadline");
    }
    const Known &it = known(key);
    if (key == "delivery") {
        delivery_ = static_cast<sw_delivery>(place(key, value, DELIVERIES));
        return;
    }
    if (key == "link") {
        link_ = static_cast<sw_link>(place(key, value, LINKS));
        return;
    }
    if (key == "carriage") {
        carriage_ = static_cast<sw_carriage>(place(key, value, CARRIAGES));
        return;
    }
    if (key == "interface") {
        interface_ = value;
        return;
    }
    if (key == "verbs") {
        verbs_ = value;
        return;
    }
    if (key == "control") {
        // Only the name: `for_transmitter` checks that the rate fits, once both are set.
        control_number(value, value == "fixed" ? 1 : 0);
        control_ = value;
        return;
    }
    const std::uint64_t chosen = number(it, value);
    if (key == "deadline_us") {
        deadline_us_ = chosen;
    } else if (key == "window") {
        window_ = chosen;
    } else if (key == "mtu_bytes") {
        mtu_bytes_ = chosen;
    } else if (key == "lead_ms") {
        lead_ms_ = chosen;
    } else if (key == "finish_ms") {
        finish_ms_ = chosen;
    } else if (key == "control_rate") {
        control_rate_ = chosen;
    } else {
        timeout_ms_ = chosen;
    }
}

std::string Settings::get(const std::string &key) const {
    if (const Alias *alias = alias_of(key)) {
        return get(alias->key);
    }
    known(key);
    if (key == "delivery") {
        return DELIVERIES[delivery_];
    }
    if (key == "control") {
        return control_;
    }
    if (key == "link") {
        return LINKS[link_];
    }
    if (key == "carriage") {
        return CARRIAGES[carriage_];
    }
    if (key == "interface") {
        return interface_;
    }
    if (key == "verbs") {
        return verbs_;
    }
    const std::uint64_t value = key == "deadline_us"    ? deadline_us_
                                : key == "window"       ? window_
                                : key == "mtu_bytes"    ? mtu_bytes_
                                : key == "lead_ms"      ? lead_ms_
                                : key == "finish_ms"    ? finish_ms_
                                : key == "control_rate" ? control_rate_
                                                        : timeout_ms_;
    return std::to_string(value);
}

void Settings::set_all(const SoapySDR::Kwargs &args) {
    for (const auto &[key, value] : args) {
        set(key, value);
    }
}

void Settings::check() const {
    if (delivery_ == SW_DELIVERY_DEADLINE && deadline_us_ == 0) {
        throw std::invalid_argument("delivery=deadline needs deadline_us, e.g. deadline_us=5000");
    }
}

samplewire::receiver_options Settings::for_receiver(std::uint32_t stream) const {
    auto chosen = options<samplewire::receiver_options>(stream);
    chosen.carriage = carriage_;
    chosen.verbs = verbs_.empty() ? nullptr : verbs_.c_str();
    return chosen;
}

samplewire::transmitter_options Settings::for_transmitter(std::uint32_t stream) const {
    auto chosen = options<samplewire::transmitter_options>(stream);
    chosen.control = control_number(control_, control_rate_);
    chosen.control_rate = control_rate_;
    return chosen;
}

template <typename Options> Options Settings::options(std::uint32_t stream) const {
    check();
    Options options;
    options.delivery = delivery_;
    options.deadline_ns = deadline_us_ * 1000;
    options.window = static_cast<std::uint32_t>(window_);
    options.mtu_bytes = static_cast<std::uint32_t>(mtu_bytes_);
    options.timeout_ns = timeout_ns();
    options.link = link_;
    options.interface = interface_.empty() ? nullptr : interface_.c_str();
    options.stream = static_cast<std::int32_t>(stream);
    return options;
}

} // namespace soapy_samplewire
