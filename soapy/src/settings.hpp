// What a user may choose: arguments of the device, of a stream, and settings, all by the same names.
#pragma once

#include <SoapySDR/Types.hpp>
#include <samplewire.hpp>

#include <cstdint>
#include <string>

namespace soapy_samplewire {

/// Choices for a stream, fixed when it is set up.
class Settings {
  public:
    /// Keys, units, ranges and defaults.
    static SoapySDR::ArgInfoList info();
    static bool is_known(const std::string &key);
    /// The nearest key of a device string to one that is unknown, as the end of an error; or nothing.
    static std::string hint(const std::string &key);

    /// Throws std::invalid_argument and names the value, and what it can be.
    void set(const std::string &key, const std::string &value);
    std::string get(const std::string &key) const;
    /// All of them; a key that is none throws.
    void set_all(const SoapySDR::Kwargs &args);

    /// They point into these settings.
    samplewire::receiver_options for_receiver(std::uint32_t stream) const;
    samplewire::transmitter_options for_transmitter(std::uint32_t stream) const;
    /// How far ahead of the device a burst without a time begins.
    std::uint64_t lead_ns() const { return lead_ms_ * 1'000'000; }
    /// How long the end of a transmission may take.
    std::uint64_t finish_ns() const { return finish_ms_ * 1'000'000; }
    std::uint64_t timeout_ns() const { return timeout_ms_ * 1'000'000; }

  private:
    /// Throws where the choices contradict each other.
    void check() const;
    template <typename Options> Options options(std::uint32_t stream) const;

    sw_delivery delivery_ = SW_DELIVERY_COMPLETE;
    std::uint64_t deadline_us_ = 0;
    std::uint64_t window_ = 1024;
    std::uint64_t mtu_bytes_ = 9000;
    sw_link link_ = SW_LINK_UDP;
    sw_carriage carriage_ = SW_CARRIAGE_DATA;
    std::string interface_;
    std::string verbs_;
    std::uint64_t lead_ms_ = 100;
    std::uint64_t finish_ms_ = 5000;
    std::uint64_t timeout_ms_ = 3000;
    std::string control_ = "dcqcn";
    std::uint64_t control_rate_ = 0;
};

} // namespace soapy_samplewire
