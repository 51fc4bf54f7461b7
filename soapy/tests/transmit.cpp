// Transmitting: the device plays the written samples, in every format, by writes and direct
// buffers. Late and missing samples are reported.

#include "check.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace {

/// How far ahead bursts begin: what this process may be held up.
constexpr long long AHEAD_NS = 3'000'000'000;

/// A file that is gone afterwards.
struct File {
    File() {
        static int count = 0;
        const std::string name =
            "soapy-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".raw";
        path = std::filesystem::temp_directory_path() / name;
        CHECK(std::ofstream(path).good());
    }
    ~File() { unlink(path.c_str()); }

    std::vector<sc16> samples() const {
        std::ifstream file(path, std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        std::vector<sc16> samples(bytes.size() / sizeof(sc16));
        std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(sc16));
        return samples;
    }

    std::string path;
};

/// A stream towards a device that plays into a file.
struct Opened {
    Opened(const std::string &format, std::uint32_t channels, bool has_clock,
           const char *faults = nullptr, const SoapySDR::Kwargs &args = {})
        : emulated(new Emulated(channels, has_clock, faults, 0, file.path.c_str())),
          radio(radio_at(emulated->device->address(), ",lead_ms=1000,finish_ms=60000")) {
        std::vector<size_t> all(channels);
        for (std::uint32_t i = 0; i < channels; i++) {
            all[i] = i;
        }
        stream = radio->setupStream(SOAPY_SDR_TX, format, all, args);
        CHECK_EQUAL(radio->activateStream(stream), 0);
    }
    ~Opened() { radio->closeStream(stream); }

    /// Writes all of it.
    void write(const std::vector<const void *> &buffers, std::size_t bytes, std::size_t count,
               int flags, long long time_ns = 0) {
        for (std::size_t done = 0; done < count;) {
            std::vector<const void *> rest;
            for (const void *buffer : buffers) {
                rest.push_back(static_cast<const char *>(buffer) + done * bytes);
            }
            int now = done == 0 ? flags : flags & ~SOAPY_SDR_HAS_TIME;
            const int written = radio->writeStream(stream, rest.data(), count - done, now, time_ns,
                                                   PATIENCE_US);
            CHECK(written > 0);
            done += written;
        }
    }

    /// The next event.
    int status() {
        flags = 0;
        return radio->readStreamStatus(stream, mask, flags, time_ns, PATIENCE_US);
    }

    /// What was played, once all is.
    std::vector<sc16> played() {
        CHECK_EQUAL(radio->deactivateStream(stream), 0);
        emulated.reset();
        return file.samples();
    }

    File file;
    std::unique_ptr<Emulated> emulated;
    Radio radio;
    SoapySDR::Stream *stream;
    size_t mask = 0;
    int flags = 0;
    long long time_ns = 0;
};

std::vector<sc16> ramp(std::size_t count, std::uint32_t channel = 0) {
    std::vector<sc16> samples(count);
    for (std::size_t i = 0; i < count; i++) {
        samples[i] = counted(i + 1, channel);
    }
    return samples;
}

constexpr const char *LOSS = "data:loss=0.01 feedback:loss=0.01";

void burst_is_played_at_its_time_through_loss() {
    Opened opened(SOAPY_SDR_CS16, 1, true, LOSS);
    const auto sent = ramp(123'456);
    const long long at = opened.radio->getHardwareTime() + AHEAD_NS;
    opened.write({sent.data()}, sizeof(sc16), sent.size(),
                 SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at);
    // One that has no time comes behind, though the first lies ahead.
    auto all = sent;
    const auto more = ramp(5'000, 7);
    all.insert(all.end(), more.begin(), more.end());
    opened.write({more.data()}, sizeof(sc16), more.size(), SOAPY_SDR_END_BURST);
    CHECK_EQUAL(opened.status(), 0);
    CHECK_EQUAL(opened.flags, SOAPY_SDR_END_BURST | SOAPY_SDR_HAS_TIME);
    CHECK_EQUAL(opened.mask, 1U);
    CHECK_EQUAL(index_of(opened.time_ns), index_of(at) + sent.size());
    CHECK_EQUAL(opened.status(), 0);
    CHECK(index_of(opened.time_ns) >= index_of(at) + all.size());
    CHECK(opened.played() == all);
}

void later_time_ends_a_burst_and_begins_another() {
    Opened opened(SOAPY_SDR_CS16, 1, true, LOSS);
    const auto sent = ramp(30'000);
    constexpr std::size_t FIRST = 12'345;
    const long long at = opened.radio->getHardwareTime() + AHEAD_NS;
    const long long later = at + 50'000'000;
    opened.write({sent.data()}, sizeof(sc16), FIRST, SOAPY_SDR_HAS_TIME, at);
    opened.write({sent.data() + FIRST}, sizeof(sc16), sent.size() - FIRST,
                 SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, later);
    CHECK_EQUAL(opened.status(), 0);
    CHECK_EQUAL(index_of(opened.time_ns), index_of(at) + FIRST);
    CHECK_EQUAL(opened.status(), 0);
    CHECK_EQUAL(index_of(opened.time_ns), index_of(later) + sent.size() - FIRST);
    opened.radio->deactivateStream(opened.stream);
    CHECK(opened.radio->readSensor(SOAPY_SDR_TX, 0, "underflow_at_peer") == "0");
}

void formats_and_channels_are_put_together() {
    Opened opened(SOAPY_SDR_CF32, 2, false, LOSS);
    const auto left = ramp(50'000, 0), right = ramp(50'000, 1);
    std::vector<std::complex<float>> floats[2];
    for (std::size_t i = 0; i < left.size(); i++) {
        floats[0].emplace_back(left[i].real() / 32768.0F, left[i].imag() / 32768.0F);
        floats[1].emplace_back(right[i].real() / 32768.0F, right[i].imag() / 32768.0F);
    }
    CHECK_EQUAL(opened.radio->getNumDirectAccessBuffers(opened.stream), 0U);
    opened.write({floats[0].data(), floats[1].data()}, 8, left.size(), SOAPY_SDR_END_BURST);
    const auto played = opened.played();
    CHECK_EQUAL(played.size(), 2 * left.size());
    for (std::size_t i = 0; i < left.size(); i++) {
        CHECK(played[2 * i] == left[i]);
        CHECK(played[2 * i + 1] == right[i]);
    }
}

void direct_buffers_and_writes_follow_one_another() {
    Opened opened(SOAPY_SDR_CS16, 1, false, LOSS);
    const auto sent = ramp(90'001);
    std::size_t done = 0;
    for (unsigned round = 0; done < sent.size(); round++) {
        if (round % 3 == 2) {
            const std::size_t count = std::min<std::size_t>(1'001, sent.size() - done);
            opened.write({sent.data() + done}, sizeof(sc16), count, 0);
            done += count;
            continue;
        }
        void *buffer = nullptr;
        size_t handle = 0;
        const int room = opened.radio->acquireWriteBuffer(opened.stream, handle, &buffer,
                                                          PATIENCE_US);
        CHECK(room > 0);
        const std::size_t count =
            std::min<std::size_t>(round % 3 == 0 ? room : room / 2 + 1, sent.size() - done);
        std::memcpy(buffer, sent.data() + done, count * sizeof(sc16));
        done += count;
        int flags = done == sent.size() ? SOAPY_SDR_END_BURST : 0;
        opened.radio->releaseWriteBuffer(opened.stream, handle, count, flags);
        opened.radio->releaseWriteBuffer(opened.stream, handle, count, flags);
    }
    CHECK(opened.played() == sent);
}

void fixed_control_keeps_to_its_rate() {
    constexpr double RATE = 10e6;
    Opened opened(SOAPY_SDR_CS16, 1, false, nullptr,
                  {{"control", "fixed"}, {"control_rate", "10000000"}});
    const auto sent = ramp(50'000);
    const auto start = std::chrono::steady_clock::now();
    opened.write({sent.data()}, sizeof(sc16), sent.size(), SOAPY_SDR_END_BURST);
    CHECK_EQUAL(opened.status(), 0);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(took.count() > 0.95 * static_cast<double>(sent.size() * sizeof(sc16)) * 8 / RATE);
    const double limit = std::stod(opened.radio->readSensor(SOAPY_SDR_TX, 0, "limit_bps"));
    CHECK(std::abs(limit - RATE) <= 61'036);
    CHECK(opened.played() == sent);

    const auto set_up = [&](const char *control, const char *rate) {
        opened.radio->closeStream(opened.stream);
        opened.stream = nullptr;
        const SoapySDR::Kwargs args{{"control", control}, {"control_rate", rate}};
        opened.stream = opened.radio->setupStream(SOAPY_SDR_TX, SOAPY_SDR_CS16, {0}, args);
    };
    check_throws("control fixed needs the rate to keep to: add control_rate",
                 [&] { set_up("fixed", "0"); });
    check_throws("control none has no rate: leave control_rate 5 out, or set control fixed",
                 [&] { set_up("none", "5"); });
    set_up("none", "0");
}

void burst_that_is_not_gone_on_with_underflows() {
    Opened opened(SOAPY_SDR_CS16, 1, true);
    const auto sent = ramp(100'000);
    const long long at = opened.radio->getHardwareTime() + AHEAD_NS;
    opened.write({sent.data()}, sizeof(sc16), sent.size(), SOAPY_SDR_HAS_TIME, at);
    CHECK_EQUAL(opened.status(), SOAPY_SDR_UNDERFLOW);
    CHECK_EQUAL(opened.flags, SOAPY_SDR_HAS_TIME);
    // What does not fill its memory, 1 ms or a packet at most, is not sent until more comes.
    const std::uint64_t first = index_of(opened.time_ns), end = index_of(at) + sent.size();
    CHECK(first <= end && first + 2'224 >= end);
    CHECK_EQUAL(opened.radio->deactivateStream(opened.stream), 0);
}

void burst_without_a_time_that_underflows_begins_again() {
    Opened opened(SOAPY_SDR_CS16, 1, true);
    const auto sent = ramp(100'000), more = ramp(10'000, 3);
    opened.write({sent.data()}, sizeof(sc16), sent.size(), 0);
    CHECK_EQUAL(opened.status(), SOAPY_SDR_UNDERFLOW);
    opened.write({more.data()}, sizeof(sc16), more.size(), SOAPY_SDR_END_BURST);
    const auto played = opened.played();
    CHECK(played.size() >= more.size());
    CHECK(std::equal(more.rbegin(), more.rend(), played.rbegin()));
}

void burst_that_is_late_is_reported() {
    Opened opened(SOAPY_SDR_CS16, 1, true);
    const auto sent = ramp(10'000);
    const void *buffers[] = {sent.data()};
    int flags = SOAPY_SDR_HAS_TIME;
    // It lies before the stream.
    CHECK_EQUAL(opened.radio->writeStream(opened.stream, buffers, 1, flags, 0), SOAPY_SDR_TIME_ERROR);
    CHECK_EQUAL(opened.status(), SOAPY_SDR_TIME_ERROR);
    const long long at = opened.radio->getHardwareTime();
    while (opened.radio->getHardwareTime() < at + 30'000'000) {
    }
    opened.write({sent.data()}, sizeof(sc16), sent.size(),
                 SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at);
    // Samples may be missing before late ones come.
    int result = 0;
    do {
        result = opened.status();
    } while (result == 0 || result == SOAPY_SDR_UNDERFLOW);
    CHECK_EQUAL(result, SOAPY_SDR_TIME_ERROR);
    opened.radio->deactivateStream(opened.stream);
    CHECK(std::stoull(opened.radio->readSensor(SOAPY_SDR_TX, 0, "late_at_peer")) > 0);
}

void burst_that_is_sent_is_played_though_its_stream_is_closed() {
    Opened opened(SOAPY_SDR_CS16, 1, true);
    const auto sent = ramp(200'000);
    const long long at = opened.radio->getHardwareTime() + AHEAD_NS;
    opened.write({sent.data()}, sizeof(sc16), sent.size(),
                 SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at);
    opened.radio->closeStream(opened.stream);
    opened.emulated.reset();
    CHECK(opened.file.samples() == sent);
}

void end_needs_no_room_that_is_on_loan() {
    Opened opened(SOAPY_SDR_CS16, 1, false, nullptr, {{"window", "16"}});
    const auto acquire = [&](size_t &handle, void *&buffer) {
        return opened.radio->acquireWriteBuffer(opened.stream, handle, &buffer, 200'000);
    };
    size_t handle = 0;
    void *buffer = nullptr;
    const int room = acquire(handle, buffer);
    CHECK(room > 0);
    const auto sent = ramp(room);
    std::memcpy(buffer, sent.data(), sent.size() * sizeof(sc16));
    int flags = 0;
    opened.radio->releaseWriteBuffer(opened.stream, handle, room, flags);
    while (acquire(handle, buffer) > 0) {
    }
    CHECK(opened.played() == sent);
}

void direct_buffer_ends_a_burst_and_a_length() {
    Opened opened(SOAPY_SDR_CS16, 1, true, LOSS);
    const auto sent = ramp(1'500);
    const auto send = [&](std::size_t from, std::size_t count, int flags) {
        void *buffer = nullptr;
        size_t handle = 0;
        CHECK(opened.radio->acquireWriteBuffer(opened.stream, handle, &buffer, PATIENCE_US) >=
              static_cast<int>(count));
        std::memcpy(buffer, sent.data() + from, count * sizeof(sc16));
        opened.radio->releaseWriteBuffer(opened.stream, handle, count, flags);
    };
    // An empty one ends a burst.
    send(0, 500, 0);
    send(0, 0, SOAPY_SDR_END_BURST);
    CHECK_EQUAL(opened.status(), 0);
    CHECK_EQUAL(opened.flags, SOAPY_SDR_END_BURST | SOAPY_SDR_HAS_TIME);
    CHECK_EQUAL(opened.radio->deactivateStream(opened.stream), 0);
    // So does the one with which all are there that the activation was for.
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, 0, 0, 1'000), 0);
    send(500, 400, 0);
    send(800, 700, 0);
    CHECK_EQUAL(opened.status(), SOAPY_SDR_STREAM_ERROR);
    send(900, 600, 0);
    CHECK_EQUAL(opened.status(), 0);
    const void *buffers[] = {sent.data()};
    int flags = 0;
    CHECK_EQUAL(opened.radio->writeStream(opened.stream, buffers, 1, flags, 0, 1000),
                SOAPY_SDR_TIMEOUT);
}

void write_needs_no_time_to_begin_a_burst() {
    Opened opened(SOAPY_SDR_CS16, 1, true);
    const auto sent = ramp(1'000);
    const void *buffers[] = {sent.data()};
    // Until the device has said where it is there is nothing to begin at.
    int written = SOAPY_SDR_TIMEOUT;
    while (written == SOAPY_SDR_TIMEOUT) {
        int flags = SOAPY_SDR_END_BURST;
        written = opened.radio->writeStream(opened.stream, buffers, sent.size(), flags, 0, 0);
    }
    CHECK_EQUAL(written, static_cast<int>(sent.size()));
    CHECK(opened.played() == sent);
}

void end_waits_no_longer_than_it_may() {
    Opened opened(SOAPY_SDR_CS16, 1, true, nullptr, {{"finish_ms", "200"}});
    const auto sent = ramp(10'000);
    const long long at = opened.radio->getHardwareTime() + 30'000'000'000;
    opened.write({sent.data()}, sizeof(sc16), sent.size(),
                 SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at);
    CHECK_EQUAL(opened.radio->deactivateStream(opened.stream), SOAPY_SDR_TIMEOUT);
    CHECK_EQUAL(opened.radio->deactivateStream(opened.stream), 0);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
    opened.emulated.reset();
    CHECK(opened.file.samples().empty());
}

void stream_takes_all_channels_and_one_direction() {
    const File file;
    const Emulated emulated(2, false, nullptr, 0, file.path.c_str());
    const Radio radio = radio_at(emulated.device->address());
    CHECK_EQUAL(radio->getNumChannels(SOAPY_SDR_RX), 0U);
    check_throws("all of its 2 channels",
                 [&] { radio->setupStream(SOAPY_SDR_TX, SOAPY_SDR_CS16, {0}); });
    SoapySDR::Stream *stream = radio->setupStream(SOAPY_SDR_TX, SOAPY_SDR_CS16, {1, 0});
    void *buffers[] = {nullptr, nullptr};
    int flags = 0;
    long long time_ns = 0;
    CHECK_EQUAL(radio->readStream(stream, buffers, 1, flags, time_ns), SOAPY_SDR_NOT_SUPPORTED);
    CHECK_EQUAL(radio->writeStream(stream, buffers, 1, flags, 0, 1000), SOAPY_SDR_TIMEOUT);
    CHECK_EQUAL(radio->activateStream(stream), 0);
    CHECK_EQUAL(radio->writeStream(stream, buffers, 1, flags, 0, 1000), SOAPY_SDR_STREAM_ERROR);
    radio->closeStream(stream);
}

} // namespace

int main() {
    burst_is_played_at_its_time_through_loss();
    later_time_ends_a_burst_and_begins_another();
    formats_and_channels_are_put_together();
    direct_buffers_and_writes_follow_one_another();
    fixed_control_keeps_to_its_rate();
    burst_that_is_not_gone_on_with_underflows();
    burst_without_a_time_that_underflows_begins_again();
    burst_that_is_late_is_reported();
    burst_that_is_sent_is_played_though_its_stream_is_closed();
    end_needs_no_room_that_is_on_loan();
    direct_buffer_ends_a_burst_and_a_length();
    write_needs_no_time_to_begin_a_burst();
    end_waits_no_longer_than_it_may();
    stream_takes_all_channels_and_one_direction();
}
