// How SoapySDR finds devices and makes them.

#include "device.hpp"

#include <SoapySDR/Logger.hpp>
#include <SoapySDR/Registry.hpp>

#include <algorithm>
#include <stdexcept>

namespace soapy_samplewire {

namespace {

/// How long a device may take to answer a search.
constexpr std::chrono::milliseconds PATIENCE(500);

SoapySDR::Kwargs described(const sw_stream_info &info) {
    const std::string name = info.name;
    SoapySDR::Kwargs args;
    args["addr"] = info.address;
    args["label"] = "Samplewire " + (name.empty() ? "" : name + " ") + "at " + info.address;
    args["streams"] = std::to_string(info.streams);
    return args;
}

std::uint16_t port_of(const SoapySDR::Kwargs &args) {
    const auto port = args.find("port");
    if (port == args.end()) {
        return 0;
    }
    const unsigned long number = port->second.find_first_not_of("0123456789") == std::string::npos &&
                                         port->second.size() <= 5 && !port->second.empty()
                                     ? std::stoul(port->second)
                                     : 0;
    if (number == 0 || number > 65'535) {
        throw std::invalid_argument("port=" + port->second + " is not a number in 1..65535");
    }
    return static_cast<std::uint16_t>(number);
}

/// Whether a device matches the search. Soapy calls every driver, so keys of other drivers
/// (`serial`, `remote`) match no device here, unless this driver is named.
bool is_meant(const SoapySDR::Kwargs &device, const SoapySDR::Kwargs &args) {
    const bool is_named = args.count("driver") > 0;
    return std::all_of(args.begin(), args.end(), [&](const auto &arg) {
        const auto &[key, value] = arg;
        const auto found = device.find(key);
        if (key == "addr" || found == device.end()) {
            return is_named || key == "addr" || key == "port" || Settings::is_known(key);
        }
        return found->second == value;
    });
}

SoapySDR::KwargsList searched(const SoapySDR::Kwargs &args) {
    SoapySDR::KwargsList found;
    const auto address = args.find("addr");
    if (address == args.end()) {
        for (const sw_stream_info &info : samplewire::find(port_of(args), PATIENCE)) {
            found.push_back(described(info));
        }
        return found;
    }
    try {
        found.push_back(described(samplewire::probe(address->second, 0, 2 * PATIENCE)));
    } catch (const samplewire::error &error) {
        // The maker throws the same error.
        SoapySDR::logf(SOAPY_SDR_DEBUG, "Samplewire %s: %s", address->second.c_str(), error.what());
    }
    return found;
}

/// With `addr` the device there, if it answers; else all devices on the local networks.
SoapySDR::KwargsList find(const SoapySDR::Kwargs &args) {
    SoapySDR::KwargsList found = searched(args);
    found.erase(std::remove_if(found.begin(), found.end(),
                               [&](const SoapySDR::Kwargs &it) { return !is_meant(it, args); }),
                found.end());
    return found;
}

SoapySDR::Device *make(const SoapySDR::Kwargs &args) { return new Device(args); }

const SoapySDR::Registry REGISTRY("samplewire", &find, &make, SOAPY_SDR_ABI_VERSION);

} // namespace

} // namespace soapy_samplewire
