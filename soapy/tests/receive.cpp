// Receiving: every sample at its time, gaps as overflows at theirs, formats, channels, activation at a
// time, bursts, direct buffers, sensors.

#include "check.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace {

constexpr std::uint64_t SAMPLES = 600'000;

/// How far ahead streams begin: what this process may be held up.
constexpr long long AHEAD_NS = 3'000'000'000;

/// A stream that is set up and active.
struct Opened {
    Opened(const Emulated &emulated, const std::string &format,
           const std::vector<size_t> &channels = {0}, const SoapySDR::Kwargs &args = {})
        : radio(radio_at(emulated.device->address())),
          stream(radio->setupStream(SOAPY_SDR_RX, format, channels, args)) {}
    ~Opened() { radio->closeStream(stream); }

    int read(void *const *buffers, std::size_t count) {
        return radio->readStream(stream, buffers, count, flags, time_ns, PATIENCE_US);
    }

    Radio radio;
    SoapySDR::Stream *stream;
    int flags = 0;
    long long time_ns = 0;
};

void every_sample_comes_through_loss() {
    const Emulated emulated(1, false, "data:loss=0.05,corrupt=0.001 feedback:loss=0.01");
    Opened opened(emulated, SOAPY_SDR_CS16);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
    std::vector<sc16> samples(opened.radio->getStreamMTU(opened.stream) + 77);
    void *buffers[] = {samples.data()};
    std::uint64_t next = 0;
    for (std::uint64_t done = 0; done < SAMPLES;) {
        const int count = opened.read(buffers, samples.size());
        CHECK(count > 0);
        CHECK_EQUAL(opened.flags, SOAPY_SDR_HAS_TIME);
        const std::uint64_t first = index_of(opened.time_ns);
        CHECK(done == 0 || first == next);
        for (int i = 0; i < count; i++) {
            CHECK(samples[i] == counted(first + i));
        }
        next = first + count;
        done += count;
    }
    CHECK_EQUAL(opened.radio->deactivateStream(opened.stream), 0);
    CHECK(std::stoull(opened.radio->readSensor(SOAPY_SDR_RX, 0, "repaired")) > 0);
    CHECK(std::stoull(opened.radio->readSensor(SOAPY_SDR_RX, 0, "samples_delivered")) >= SAMPLES);
    CHECK_EQUAL(std::stoull(opened.radio->readSensor(SOAPY_SDR_RX, 0, "samples_missing")), 0ULL);
}

void gaps_are_overflows_at_their_time() {
    const Emulated emulated(1, false, "data:loss=0.05", SAMPLES);
    Opened opened(emulated, SOAPY_SDR_CS16, {0}, {{"delivery", "best-effort"}});
    CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
    std::vector<sc16> samples(3'333);
    void *buffers[] = {samples.data()};
    std::uint64_t next = 0, given = 0, missing = 0;
    unsigned overflows = 0;
    bool is_in_gap = false;
    for (int count = 0; next < SAMPLES;) {
        count = opened.radio->readStream(opened.stream, buffers, samples.size(), opened.flags,
                                         opened.time_ns, is_in_gap ? PATIENCE_US / 4 : PATIENCE_US);
        if (is_in_gap && count == SOAPY_SDR_TIMEOUT) {
            // The gap was the last of what there is; the final counter says how long it was.
            missing += SAMPLES - next;
            break;
        }
        const std::uint64_t index = index_of(opened.time_ns);
        CHECK_EQUAL(opened.flags & SOAPY_SDR_HAS_TIME, SOAPY_SDR_HAS_TIME);
        if (count == SOAPY_SDR_OVERFLOW) {
            CHECK(is_in_gap || index == next);
            overflows++;
            if (next < index) {
                missing += index - next;
                next = index;
            }
            is_in_gap = true;
            continue;
        }
        CHECK(count > 0);
        CHECK(is_in_gap ? index > next : index == next);
        is_in_gap = false;
        missing += index - next;
        given += count;
        for (int i = 0; i < count; i++) {
            CHECK(samples[i] == counted(index + i));
        }
        next = index + count;
    }
    CHECK(overflows > 0);
    CHECK_EQUAL(given + missing, SAMPLES);
    // The device has ended the stream: nothing more comes, and that is no error.
    CHECK_EQUAL(opened.radio->readStream(opened.stream, buffers, 1, opened.flags, opened.time_ns,
                                         1000),
                SOAPY_SDR_TIMEOUT);
    opened.radio->deactivateStream(opened.stream);
    CHECK_EQUAL(std::stoull(opened.radio->readSensor(SOAPY_SDR_RX, 0, "samples_missing")), missing);
    CHECK_EQUAL(std::stoull(opened.radio->readSensor(SOAPY_SDR_RX, 0, "missing_never_asked")),
                missing);
}

void formats_are_converted_by_full_scale() {
    const Emulated emulated(1, false);
    double full_scale = 0;
    CHECK(radio_at(emulated.device->address())
              ->getNativeStreamFormat(SOAPY_SDR_RX, 0, full_scale) == SOAPY_SDR_CS16);
    CHECK(full_scale == 32768.0);
    {
        Opened opened(emulated, SOAPY_SDR_CF32);
        std::vector<std::complex<float>> samples(20'000);
        void *buffers[] = {samples.data()};
        CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
        const int count = opened.read(buffers, samples.size());
        CHECK(count > 0);
        for (int i = 0; i < count; i++) {
            const sc16 sent = counted(index_of(opened.time_ns) + i);
            CHECK(samples[i].real() * 32768.0F == sent.real());
            CHECK(samples[i].imag() * 32768.0F == sent.imag());
        }
    }
    Opened opened(emulated, SOAPY_SDR_CS8);
    std::vector<std::complex<std::int8_t>> samples(20'000);
    void *buffers[] = {samples.data()};
    CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
    const int count = opened.read(buffers, samples.size());
    CHECK(count > 0);
    for (int i = 0; i < count; i++) {
        const sc16 sent = counted(index_of(opened.time_ns) + i);
        CHECK(std::abs(samples[i].real() - sent.real() / 256.0) <= 1.0);
        CHECK(std::abs(samples[i].imag() - sent.imag() / 256.0) <= 1.0);
    }
}

void channels_are_taken_apart_in_the_order_asked_for() {
    const Emulated emulated(3, false, "data:loss=0.01");
    Opened opened(emulated, SOAPY_SDR_CF32, {2, 0});
    CHECK_EQUAL(opened.radio->getNumChannels(SOAPY_SDR_RX), 3U);
    CHECK_EQUAL(opened.radio->getNumChannels(SOAPY_SDR_TX), 0U);
    CHECK_EQUAL(opened.radio->getNumDirectAccessBuffers(opened.stream), 0U);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
    std::vector<std::complex<float>> two(5'000), none(5'000);
    void *buffers[] = {two.data(), none.data()};
    for (std::uint64_t done = 0; done < 100'000;) {
        const int count = opened.read(buffers, two.size());
        CHECK(count > 0);
        const std::uint64_t first = index_of(opened.time_ns);
        for (int i = 0; i < count; i++) {
            CHECK(two[i].real() * 32768.0F == counted(first + i, 2).real());
            CHECK(none[i].imag() * 32768.0F == counted(first + i, 0).imag());
        }
        done += count;
    }
}

void activation_has_a_time_and_a_length() {
    const Emulated emulated(1, true);
    Opened opened(emulated, SOAPY_SDR_CS16);
    CHECK(opened.radio->hasHardwareTime());
    const long long at = opened.radio->getHardwareTime() + AHEAD_NS;
    constexpr std::size_t COUNT = 12'345;
    CHECK_EQUAL(opened.radio->activateStream(opened.stream,
                                             SOAPY_SDR_HAS_TIME | SOAPY_SDR_END_BURST, at, COUNT),
                0);
    std::vector<sc16> samples(5'000);
    void *buffers[] = {samples.data()};
    std::size_t done = 0;
    do {
        const int count = opened.read(buffers, samples.size());
        CHECK(count > 0);
        CHECK_EQUAL(index_of(opened.time_ns), index_of(at) + done);
        CHECK(samples[0] == counted(index_of(at) + done));
        done += count;
        CHECK_EQUAL((opened.flags & SOAPY_SDR_END_BURST) != 0, done == COUNT);
    } while (done < COUNT);
    CHECK_EQUAL(opened.radio->readStream(opened.stream, buffers, 1, opened.flags, opened.time_ns,
                                         1000),
                SOAPY_SDR_TIMEOUT);
    // It has passed.
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, SOAPY_SDR_HAS_TIME, at),
                SOAPY_SDR_TIME_ERROR);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, SOAPY_SDR_HAS_TIME, -1),
                SOAPY_SDR_TIME_ERROR);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, SOAPY_SDR_WAIT_TRIGGER),
                SOAPY_SDR_NOT_SUPPORTED);
}

void longest_timeouts_and_lengths_are_what_they_say() {
    const Emulated emulated(1, false);
    Opened opened(emulated, SOAPY_SDR_CS16);
    const std::size_t most = std::numeric_limits<std::size_t>::max();
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, 0, 0, most), 0);
    std::vector<sc16> samples(5'000);
    void *buffers[] = {samples.data()};
    for (unsigned round = 0; round < 10; round++) {
        CHECK(opened.radio->readStream(opened.stream, buffers, samples.size(), opened.flags,
                                       opened.time_ns, std::numeric_limits<long>::max()) > 0);
        CHECK_EQUAL(opened.flags, SOAPY_SDR_HAS_TIME);
    }
}

void time_counts_from_what_it_was_set_to() {
    const Emulated emulated(1, true);
    Opened opened(emulated, SOAPY_SDR_CS16);
    constexpr long long SET_NS = 5'000'000'000'000'000;
    opened.radio->setHardwareTime(SET_NS);
    const long long at = opened.radio->getHardwareTime() + AHEAD_NS;
    CHECK(at >= SET_NS + AHEAD_NS && at < SET_NS + 60'000'000'000);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, SOAPY_SDR_HAS_TIME, at), 0);
    std::vector<sc16> samples(5'000);
    void *buffers[] = {samples.data()};
    const int count = opened.read(buffers, samples.size());
    CHECK(count > 0);
    CHECK_EQUAL(opened.time_ns, at);
    // It is that of the device's index, which is small.
    const std::uint64_t index = static_cast<std::uint16_t>(samples[0].real()) +
                                (static_cast<std::uint64_t>(samples[0].imag()) << 16);
    CHECK(index < 60'000'000);
    opened.radio->setHardwareTime(0);
    const int more = opened.read(buffers, samples.size());
    CHECK(more > 0 && samples[0] == counted(index + count));
    // Counted from the set time, which is about where the stream is.
    CHECK(opened.time_ns > -60'000'000'000 && opened.time_ns < 60'000'000'000);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream, SOAPY_SDR_HAS_TIME,
                                             std::numeric_limits<long long>::min()),
                SOAPY_SDR_TIME_ERROR);
}

void direct_buffers_are_the_blocks() {
    const Emulated emulated(1, false, "data:loss=0.01");
    Opened opened(emulated, SOAPY_SDR_CS16);
    CHECK_EQUAL(opened.radio->activateStream(opened.stream), 0);
    const size_t most = opened.radio->getNumDirectAccessBuffers(opened.stream);
    CHECK(most > 1);
    std::uint64_t next = 0;
    for (unsigned round = 0; round < 20; round++) {
        std::vector<size_t> handles;
        for (size_t i = 0; i < most; i++) {
            const void *buffer = nullptr;
            size_t handle = most;
            const int count = opened.radio->acquireReadBuffer(
                opened.stream, handle, &buffer, opened.flags, opened.time_ns, PATIENCE_US);
            CHECK(count > 0 && handle < most);
            const std::uint64_t first = index_of(opened.time_ns);
            CHECK((round == 0 && i == 0) || first == next);
            const auto *samples = static_cast<const sc16 *>(buffer);
            CHECK(samples[0] == counted(first));
            CHECK(samples[count - 1] == counted(first + count - 1));
            next = first + count;
            handles.push_back(handle);
        }
        const void *buffer = nullptr;
        size_t handle = 0;
        CHECK_EQUAL(opened.radio->acquireReadBuffer(opened.stream, handle, &buffer, opened.flags,
                                                    opened.time_ns, 1000),
                    SOAPY_SDR_STREAM_ERROR);
        for (const size_t handle : handles) {
            opened.radio->releaseReadBuffer(opened.stream, handle);
        }
        opened.radio->releaseReadBuffer(opened.stream, handles.front());
    }
    // A buffer outlives the activation.
    const void *buffer = nullptr;
    size_t handle = 0;
    CHECK(opened.radio->acquireReadBuffer(opened.stream, handle, &buffer, opened.flags,
                                          opened.time_ns, PATIENCE_US) > 0);
    CHECK_EQUAL(opened.radio->deactivateStream(opened.stream), 0);
    CHECK(*static_cast<const sc16 *>(buffer) == counted(index_of(opened.time_ns)));
    opened.radio->releaseReadBuffer(opened.stream, handle);
}

} // namespace

int main() {
    every_sample_comes_through_loss();
    gaps_are_overflows_at_their_time();
    formats_are_converted_by_full_scale();
    channels_are_taken_apart_in_the_order_asked_for();
    activation_has_a_time_and_a_length();
    longest_timeouts_and_lengths_are_what_they_say();
    time_counts_from_what_it_was_set_to();
    direct_buffers_are_the_blocks();
}
