// The streams of a device: setting them up, and handing Soapy's calls to them.

#include "device.hpp"

#include "rx_stream.hpp"
#include "tx_stream.hpp"

#include <algorithm>
#include <stdexcept>

namespace soapy_samplewire {

namespace {

/// The key that Soapy recommends for the format on the wire, which is the device's choice.
constexpr const char *WIRE = "WIRE";

/// Those arguments that are settings.
SoapySDR::Kwargs without_wire(SoapySDR::Kwargs args, const Format &native) {
    const auto wire = args.find(WIRE);
    if (wire != args.end()) {
        const std::string &format = wire->second;
        if (!format.empty() && format != native.soapy && format != sw_format_str(native.wire)) {
            throw std::invalid_argument("WIRE=" + format + ": the device's format is " +
                                        native.soapy + " and is not set from here");
        }
        args.erase(wire);
    }
    return args;
}

} // namespace

SoapySDR::ArgInfoList Device::getStreamArgsInfo(int direction, size_t channel) const {
    SoapySDR::ArgInfoList list = Settings::info();
    SoapySDR::ArgInfo wire;
    wire.key = WIRE;
    wire.name = "Format on the wire";
    wire.value = channels_.of(direction, channel).native().soapy;
    wire.description = "that of the device, which is not set from here";
    wire.type = SoapySDR::ArgInfo::STRING;
    wire.options = {wire.value};
    list.push_back(wire);
    return list;
}

SoapySDR::Stream *Device::setupStream(int direction, const std::string &format,
                                      const std::vector<size_t> &channels,
                                      const SoapySDR::Kwargs &args) {
    const std::vector<size_t> wanted = channels.empty() ? std::vector<size_t>{0} : channels;
    const DeviceStream &of = channels_.of(direction, wanted.front());
    const SampleClock clock = this->clock(of);
    const std::lock_guard<std::mutex> lock(mutex_);
    check_is_free(of);
    Settings settings = settings_;
    settings.set_all(without_wire(args, of.native()));
    StreamTerms terms{of, format_called(format, of.native()), picked(direction, wanted, of),
                      settings, clock};
    std::shared_ptr<Stream> made;
    if (direction == SOAPY_SDR_RX) {
        // A contradiction of settings shows here, not when the stream is activated.
        settings.for_receiver(of.info.stream);
        made = std::make_shared<RxStream>(std::move(terms));
    } else {
        settings.for_transmitter(of.info.stream);
        made = std::make_shared<TxStream>(std::move(terms));
    }
    streams_.push_back(made);
    return reinterpret_cast<SoapySDR::Stream *>(made.get());
}

void Device::check_is_free(const DeviceStream &stream) const {
    if (open_stream(stream) != nullptr) {
        throw std::runtime_error("stream " + std::to_string(stream.info.stream) +
                                 " of the device is set up already: close that first");
    }
}

const Stream *Device::open_stream(const DeviceStream &stream) const {
    const auto open = std::find_if(streams_.begin(), streams_.end(), [&](const auto &it) {
        return &it->terms().stream == &stream;
    });
    return open == streams_.end() ? nullptr : open->get();
}

/// The positions of channels in the device's stream.
std::vector<std::size_t> Device::picked(int direction, const std::vector<size_t> &channels,
                                        const DeviceStream &stream) const {
    std::vector<std::size_t> positions;
    for (const size_t channel : channels) {
        if (&channels_.of(direction, channel) != &stream) {
            throw std::invalid_argument(
                "channels " + std::to_string(channels.front()) + " and " + std::to_string(channel) +
                " are of different streams of the device: set up a stream for each, and activate "
                "both at one time");
        }
        const std::size_t position = channel - stream.first_channel;
        if (std::find(positions.begin(), positions.end(), position) != positions.end()) {
            throw std::invalid_argument("channel " + std::to_string(channel) + " is named twice");
        }
        positions.push_back(position);
    }
    if (direction == SOAPY_SDR_TX && positions.size() != stream.info.channels) {
        throw std::invalid_argument("stream " + std::to_string(stream.info.stream) +
                                    " takes all of its " + std::to_string(stream.info.channels) +
                                    " channels at once: name each");
    }
    return positions;
}

std::shared_ptr<Stream> Device::stream(const void *name) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto &stream : streams_) {
        if (stream.get() == name) {
            return stream;
        }
    }
    SoapySDR::log(SOAPY_SDR_ERROR, "Samplewire: this stream was closed, or never set up");
    return nullptr;
}

void Device::closeStream(SoapySDR::Stream *name) {
    const auto closing = stream(name);
    if (!closing) {
        return;
    }
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        streams_.erase(std::remove(streams_.begin(), streams_.end(), closing), streams_.end());
    }
    // It may wait for the device, which is nothing to hold others up for.
    closing->leave();
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_[closing->terms().stream.info.stream] = closing->sensors();
}

size_t Device::getStreamMTU(SoapySDR::Stream *name) const {
    const auto of = stream(name);
    return of ? of->mtu() : 1;
}

int Device::activateStream(SoapySDR::Stream *name, int flags, long long timeNs, size_t numElems) {
    const auto of = stream(name);
    return of ? of->activate(flags, timeNs, numElems) : SOAPY_SDR_STREAM_ERROR;
}

int Device::deactivateStream(SoapySDR::Stream *name, int flags, long long timeNs) {
    const auto of = stream(name);
    return of ? of->deactivate(flags, timeNs) : SOAPY_SDR_STREAM_ERROR;
}

int Device::readStream(SoapySDR::Stream *name, void *const *buffs, size_t numElems, int &flags,
                       long long &timeNs, long timeoutUs) {
    const auto of = stream(name);
    return of ? of->read(buffs, numElems, flags, timeNs, timeoutUs) : SOAPY_SDR_STREAM_ERROR;
}

int Device::writeStream(SoapySDR::Stream *name, const void *const *buffs, size_t numElems,
                        int &flags, long long timeNs, long timeoutUs) {
    const auto of = stream(name);
    return of ? of->write(buffs, numElems, flags, timeNs, timeoutUs) : SOAPY_SDR_STREAM_ERROR;
}

int Device::readStreamStatus(SoapySDR::Stream *name, size_t &chanMask, int &flags,
                             long long &timeNs, long timeoutUs) {
    const auto of = stream(name);
    return of ? of->status(chanMask, flags, timeNs, timeoutUs) : SOAPY_SDR_STREAM_ERROR;
}

size_t Device::getNumDirectAccessBuffers(SoapySDR::Stream *name) {
    const auto of = stream(name);
    return of ? of->direct_buffers() : 0;
}

int Device::acquireReadBuffer(SoapySDR::Stream *name, size_t &handle, const void **buffs, int &flags,
                              long long &timeNs, long timeoutUs) {
    const auto of = stream(name);
    return of ? of->acquire_read(handle, buffs, flags, timeNs, timeoutUs) : SOAPY_SDR_STREAM_ERROR;
}

void Device::releaseReadBuffer(SoapySDR::Stream *name, size_t handle) {
    if (const auto of = stream(name)) {
        of->release_read(handle);
    }
}

int Device::acquireWriteBuffer(SoapySDR::Stream *name, size_t &handle, void **buffs,
                               long timeoutUs) {
    const auto of = stream(name);
    return of ? of->acquire_write(handle, buffs, timeoutUs) : SOAPY_SDR_STREAM_ERROR;
}

void Device::releaseWriteBuffer(SoapySDR::Stream *name, size_t handle, size_t numElems, int &flags,
                                long long timeNs) {
    if (const auto of = stream(name)) {
        of->release_write(handle, numElems, flags, timeNs);
    }
}

} // namespace soapy_samplewire
