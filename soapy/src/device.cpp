#include "device.hpp"

#include "rx_stream.hpp"
#include "tx_stream.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace soapy_samplewire {

namespace {

std::string words(double value) {
    std::ostringstream text;
    text.precision(15);
    text << value;
    return text.str();
}

std::string hex(std::uint64_t value) {
    std::ostringstream text;
    text << std::hex << value;
    return text.str();
}

/// What Soapy and the search add to a device's arguments.
bool is_of_soapy(const std::string &key) {
    constexpr const char *KEYS[] = {"addr", "driver", "label", "port", "streams", "type"};
    return std::any_of(std::begin(KEYS), std::end(KEYS),
                       [&](const char *known) { return key == known; });
}

} // namespace

Device::Device(const SoapySDR::Kwargs &args) {
    const auto address = args.find("addr");
    if (address == args.end()) {
        throw std::runtime_error("no Samplewire device was found on the local networks: give its "
                                 "address, addr=HOST or addr=HOST:PORT");
    }
    for (const auto &[key, value] : args) {
        if (Settings::is_known(key)) {
            settings_.set(key, value);
        } else if (!is_of_soapy(key)) {
            SoapySDR::logf(SOAPY_SDR_WARNING, "Samplewire %s: argument %s=%s is unknown and ignored%s",
                           address->second.c_str(), key.c_str(), value.c_str(),
                           Settings::hint(key).c_str());
        }
    }
    channels_ = Channels(address->second, settings_.timeout_ns());
}

SoapySDR::Kwargs Device::getHardwareInfo() const {
    const sw_stream_info &info = channels_.streams().front().info;
    return {{"address", info.address},
            {"boot_id", hex(info.boot_id)},
            {"library", sw_version()},
            {"protocol", std::to_string(info.protocol_version)},
            {"streams", std::to_string(info.streams)}};
}

SoapySDR::Kwargs Device::getChannelInfo(int direction, size_t channel) const {
    const DeviceStream &of = channels_.of(direction, channel);
    SoapySDR::Kwargs info{{"channel_of_stream", std::to_string(channel - of.first_channel)},
                          {"format", sw_format_str(of.info.format)},
                          {"name", of.info.name},
                          {"packet_samples", std::to_string(of.info.packet_samples)},
                          {"path_mtu_bytes", std::to_string(of.info.path_mtu_bytes)},
                          {"stream", std::to_string(of.info.stream)},
                          {"window_of_device", std::to_string(of.info.window)}};
    const std::lock_guard<std::mutex> lock(mutex_);
    const Stream *open = open_stream(of);
    if (const auto carriage = open == nullptr ? std::nullopt : open->carriage()) {
        info.emplace("carriage", carriage == SW_CARRIAGE_RDMA ? "rdma" : "data");
    }
    return info;
}

std::vector<std::string> Device::getStreamFormats(int direction, size_t channel) const {
    return formats_for(channels_.of(direction, channel).native());
}

std::string Device::getNativeStreamFormat(int direction, size_t channel, double &fullScale) const {
    const DeviceStream &of = channels_.of(direction, channel);
    fullScale = of.info.full_scale;
    return of.native().soapy;
}

std::vector<std::string> Device::listFrequencies(int direction, size_t channel) const {
    const DeviceStream &of = channels_.of(direction, channel);
    return of.info.has_centre_frequency != 0 ? std::vector<std::string>{"RF"}
                                             : std::vector<std::string>{};
}

void Device::setFrequency(int direction, size_t channel, double frequency,
                          const SoapySDR::Kwargs &) {
    const DeviceStream &of = channels_.of(direction, channel);
    if (of.info.has_centre_frequency == 0) {
        SoapySDR::logf(SOAPY_SDR_WARNING,
                       "Samplewire %s: the centre frequency is not set to %g Hz: tuning stays with "
                       "the device's own interface",
                       of.info.address, frequency);
    } else if (std::abs(frequency - of.info.centre_frequency_hz) >= 1.0) {
        throw std::invalid_argument("the centre frequency is " + words(of.info.centre_frequency_hz) +
                                    " Hz and cannot be set to " + words(frequency) +
                                    " from here: tuning stays with the device's own interface");
    }
}

void Device::setFrequency(int direction, size_t channel, const std::string &name, double frequency,
                          const SoapySDR::Kwargs &args) {
    if (name != "RF") {
        throw std::invalid_argument("there is no frequency \"" + name + "\": there is RF");
    }
    setFrequency(direction, channel, frequency, args);
}

double Device::getFrequency(int direction, size_t channel) const {
    return channels_.of(direction, channel).info.centre_frequency_hz;
}

double Device::getFrequency(int direction, size_t channel, const std::string &) const {
    return getFrequency(direction, channel);
}

SoapySDR::RangeList Device::getFrequencyRange(int direction, size_t channel) const {
    const double frequency = getFrequency(direction, channel);
    return {{frequency, frequency}};
}

SoapySDR::RangeList Device::getFrequencyRange(int direction, size_t channel,
                                              const std::string &) const {
    return getFrequencyRange(direction, channel);
}

SampleClock Device::clock(const DeviceStream &stream) const {
    if (stream.is_rate_known()) {
        return {stream.info.rate_numerator, stream.info.rate_denominator, zero_ns_};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return {static_cast<std::uint64_t>(std::llround(rate_said_hz_ * 1000)), 1000, zero_ns_};
}

void Device::setSampleRate(int direction, size_t channel, double rate) {
    const DeviceStream &of = channels_.of(direction, channel);
    const double reported_hz = of.info.rate_hz;
    if (!of.is_rate_known()) {
        if (!(rate >= 0.001 && rate <= 1e12)) {
            throw std::invalid_argument("a sample rate of " + words(rate) + " Hz cannot be");
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        rate_said_hz_ = rate;
    } else if (!(std::abs(rate - reported_hz) <= 1e-6 * reported_hz)) {
        throw std::invalid_argument("the device's sample rate is " + words(reported_hz) +
                                    " Hz and cannot be set to " + words(rate) +
                                    " from here: it stays with the device's own interface");
    }
}

double Device::getSampleRate(int direction, size_t channel) const {
    return clock(channels_.of(direction, channel)).rate_hz();
}

std::vector<double> Device::listSampleRates(int direction, size_t channel) const {
    return {getSampleRate(direction, channel)};
}

SoapySDR::RangeList Device::getSampleRateRange(int direction, size_t channel) const {
    const double rate = getSampleRate(direction, channel);
    return {{rate, rate}};
}

bool Device::hasHardwareTime(const std::string &what) const {
    return what.empty() && clock(channels_.streams().front()).is_known();
}

long long Device::getHardwareTime(const std::string &what) const {
    if (!hasHardwareTime(what)) {
        throw std::invalid_argument("there is no hardware time \"" + what + "\": the time of the " +
                                    "device's index is \"\", where its sample rate is known");
    }
    const DeviceStream &first = channels_.streams().front();
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t timeout_ns = settings_.timeout_ns();
    lock.unlock();
    return clock(first).time_ns(index_now(first, timeout_ns));
}

/// The index stays the device's own; what its times count from is this program's.
void Device::setHardwareTime(long long timeNs, const std::string &what) {
    const long long now_ns = getHardwareTime(what);
    // Relaxed: see SampleClock.
    const long long zero_ns = zero_ns_.load(std::memory_order_relaxed);
    long long next_ns = 0;
    if (__builtin_sub_overflow(timeNs, now_ns - zero_ns, &next_ns)) {
        throw std::invalid_argument("the hardware time cannot be set to " + std::to_string(timeNs));
    }
    zero_ns_.store(next_ns, std::memory_order_relaxed);
}

std::vector<std::string> Device::listSensors(int direction, size_t channel) const {
    channels_.of(direction, channel);
    return sensor_names(direction);
}

SoapySDR::ArgInfo Device::getSensorInfo(int direction, size_t channel,
                                        const std::string &key) const {
    channels_.of(direction, channel);
    return sensor_info(direction, key);
}

std::string Device::readSensor(int direction, size_t channel, const std::string &key) const {
    const DeviceStream &of = channels_.of(direction, channel);
    const std::string none = sensor_info(direction, key).value;
    Readings values;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const Stream *open = open_stream(of);
        const auto closed = closed_.find(of.info.stream);
        if (open != nullptr) {
            values = open->sensors();
        } else if (closed != closed_.end()) {
            values = closed->second;
        }
    }
    const auto value = values.find(key);
    return value == values.end() ? none : std::to_string(value->second);
}

void Device::writeSetting(const std::string &key, const std::string &value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    settings_.set(key, value);
}

std::string Device::readSetting(const std::string &key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return settings_.get(key);
}

} // namespace soapy_samplewire
