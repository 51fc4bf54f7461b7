// A Samplewire device as SoapySDR sees it.
#pragma once

#include "stream.hpp"

#include <memory>
#include <mutex>

namespace soapy_samplewire {

/// Streams, times, sensors and settings. Other functions of a radio, such as gain and tuning, stay
/// in the device's own interface. A rate or a frequency can only be set to its current value.
class Device : public SoapySDR::Device {
  public:
    /// Queries the device at `addr`; throws with the reason if it does not answer.
    explicit Device(const SoapySDR::Kwargs &args);

    std::string getDriverKey() const override { return "samplewire"; }
    std::string getHardwareKey() const override { return "samplewire"; }
    SoapySDR::Kwargs getHardwareInfo() const override;

    size_t getNumChannels(int direction) const override { return channels_.count(direction); }
    SoapySDR::Kwargs getChannelInfo(int direction, size_t channel) const override;
    bool getFullDuplex(int, size_t) const override { return true; }

    std::vector<std::string> getStreamFormats(int direction, size_t channel) const override;
    std::string getNativeStreamFormat(int direction, size_t channel,
                                      double &fullScale) const override;
    SoapySDR::ArgInfoList getStreamArgsInfo(int direction, size_t channel) const override;

    SoapySDR::Stream *setupStream(int direction, const std::string &format,
                                  const std::vector<size_t> &channels,
                                  const SoapySDR::Kwargs &args) override;
    void closeStream(SoapySDR::Stream *stream) override;
    size_t getStreamMTU(SoapySDR::Stream *stream) const override;
    int activateStream(SoapySDR::Stream *stream, int flags, long long timeNs,
                       size_t numElems) override;
    int deactivateStream(SoapySDR::Stream *stream, int flags, long long timeNs) override;
    int readStream(SoapySDR::Stream *stream, void *const *buffs, size_t numElems, int &flags,
                   long long &timeNs, long timeoutUs) override;
    int writeStream(SoapySDR::Stream *stream, const void *const *buffs, size_t numElems, int &flags,
                    long long timeNs, long timeoutUs) override;
    int readStreamStatus(SoapySDR::Stream *stream, size_t &chanMask, int &flags, long long &timeNs,
                         long timeoutUs) override;

    size_t getNumDirectAccessBuffers(SoapySDR::Stream *stream) override;
    int acquireReadBuffer(SoapySDR::Stream *stream, size_t &handle, const void **buffs, int &flags,
                          long long &timeNs, long timeoutUs) override;
    void releaseReadBuffer(SoapySDR::Stream *stream, size_t handle) override;
    int acquireWriteBuffer(SoapySDR::Stream *stream, size_t &handle, void **buffs,
                           long timeoutUs) override;
    void releaseWriteBuffer(SoapySDR::Stream *stream, size_t handle, size_t numElems, int &flags,
                            long long timeNs) override;

    std::vector<std::string> listFrequencies(int direction, size_t channel) const override;
    void setFrequency(int direction, size_t channel, double frequency,
                      const SoapySDR::Kwargs &args) override;
    void setFrequency(int direction, size_t channel, const std::string &name, double frequency,
                      const SoapySDR::Kwargs &args) override;
    double getFrequency(int direction, size_t channel) const override;
    double getFrequency(int direction, size_t channel, const std::string &name) const override;
    SoapySDR::RangeList getFrequencyRange(int direction, size_t channel) const override;
    SoapySDR::RangeList getFrequencyRange(int direction, size_t channel,
                                          const std::string &name) const override;

    void setSampleRate(int direction, size_t channel, double rate) override;
    double getSampleRate(int direction, size_t channel) const override;
    std::vector<double> listSampleRates(int direction, size_t channel) const override;
    SoapySDR::RangeList getSampleRateRange(int direction, size_t channel) const override;

    bool hasHardwareTime(const std::string &what) const override;
    long long getHardwareTime(const std::string &what) const override;
    void setHardwareTime(long long timeNs, const std::string &what) override;

    std::vector<std::string> listSensors(int direction, size_t channel) const override;
    SoapySDR::ArgInfo getSensorInfo(int direction, size_t channel,
                                    const std::string &key) const override;
    std::string readSensor(int direction, size_t channel, const std::string &key) const override;

    SoapySDR::ArgInfoList getSettingInfo() const override { return Settings::info(); }
    void writeSetting(const std::string &key, const std::string &value) override;
    std::string readSetting(const std::string &key) const override;

    // The forms of these that are not overridden stay visible.
    using SoapySDR::Device::getSensorInfo;
    using SoapySDR::Device::getSettingInfo;
    using SoapySDR::Device::listSensors;
    using SoapySDR::Device::readSensor;
    using SoapySDR::Device::readSetting;
    using SoapySDR::Device::writeSetting;

  private:
    /// Nothing, and a log message, for a stream of another device.
    std::shared_ptr<Stream> stream(const void *name) const;
    SampleClock clock(const DeviceStream &stream) const;
    std::vector<std::size_t> picked(int direction, const std::vector<size_t> &channels,
                                    const DeviceStream &stream) const;
    void check_is_free(const DeviceStream &stream) const;
    /// The one that is set up for this, or NULL; the mutex is held.
    const Stream *open_stream(const DeviceStream &stream) const;

    Channels channels_;
    /// The time of index 0.
    std::atomic<long long> zero_ns_{0};
    mutable std::mutex mutex_;
    // The rest is guarded by the mutex.
    Settings settings_;
    std::vector<std::shared_ptr<Stream>> streams_;
    /// Final counts of closed streams, by stream number.
    std::map<std::uint32_t, Readings> closed_;
    /// The rate from the program, for a device that does not know its own.
    double rate_said_hz_ = 0.0;
};

} // namespace soapy_samplewire
