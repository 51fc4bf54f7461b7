// Checks of the tests, a device in software to test against, and what it sends.
#pragma once

#include <SoapySDR/Device.hpp>
#include <SoapySDR/Errors.hpp>
#include <SoapySDR/Formats.hpp>
#include <samplewire.hpp>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);     \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

#define CHECK_EQUAL(left, right)                                                                   \
    do {                                                                                           \
        const auto left_is = (left);                                                               \
        const auto right_is = (right);                                                             \
        if (!(left_is == right_is)) {                                                              \
            std::fprintf(stderr, "%s:%d: %s is %lld, and %s is %lld\n", __FILE__, __LINE__, #left, \
                         static_cast<long long>(left_is), #right,                                  \
                         static_cast<long long>(right_is));                                        \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)

using sc16 = std::complex<std::int16_t>;

/// That `work` throws, with `word` in its text.
template <class Work> void check_throws(const char *word, Work work) {
    try {
        work();
    } catch (const std::exception &error) {
        if (std::string(error.what()).find(word) == std::string::npos) {
            std::fprintf(stderr, "\"%s\" is not in: %s\n", word, error.what());
            std::exit(1);
        }
        return;
    }
    std::fprintf(stderr, "nothing was thrown; expected \"%s\"\n", word);
    std::exit(1);
}

/// How long a test waits for what must come.
constexpr long PATIENCE_US = 20'000'000;

/// What the device in software sends on a channel at an index.
inline sc16 counted(std::uint64_t index, std::uint32_t channel = 0) {
    const auto value = static_cast<std::uint32_t>(index) + 0x9E3779B9U * channel;
    return {static_cast<std::int16_t>(value & 0xFFFF), static_cast<std::int16_t>(value >> 16)};
}

struct Unmake {
    void operator()(SoapySDR::Device *device) const { SoapySDR::Device::unmake(device); }
};
using Radio = std::unique_ptr<SoapySDR::Device, Unmake>;

inline Radio radio_at(const std::string &address, const std::string &more = "") {
    return Radio(SoapySDR::Device::make("driver=samplewire,addr=" + address + more));
}

/// A device in software of 1 MS/s.
struct Emulated {
    Emulated(std::uint32_t channels, bool has_clock, const char *faults = nullptr,
             std::uint64_t samples = 0, const char *plays_into = nullptr) {
        options.channels = channels;
        options.has_clock = has_clock;
        options.faults = faults;
        options.samples = samples;
        options.plays_into = plays_into;
        device = std::make_unique<samplewire::device>(options);
    }

    samplewire::device_options options;
    std::unique_ptr<samplewire::device> device;
};

inline std::uint64_t index_of(long long time_ns) {
    CHECK_EQUAL(time_ns % 1000, 0);
    return static_cast<std::uint64_t>(time_ns / 1000);
}
