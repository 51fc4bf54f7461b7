// A device that is killed while it streams: an error of the stream, and no crash. Where another takes its
// place that shows at once, and one of another kind is refused; with the argument `silent` none does, and
// it is missed after 15 s.

#include "check.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// A process with a device in it, at `address` where that is not empty; says where it listens.
pid_t device_in_a_process(std::string &address, std::uint32_t channels = 1) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        samplewire::device_options options;
        options.address = address.empty() ? nullptr : address.c_str();
        options.channels = channels;
        const samplewire::device device(options);
        const std::string line = device.address() + "\n";
        CHECK_EQUAL(write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
        for (;;) {
            pause();
        }
    }
    close(ends[1]);
    address.clear();
    char letter = 0;
    while (read(ends[0], &letter, 1) == 1 && letter != '\n') {
        address += letter;
    }
    close(ends[0]);
    CHECK(!address.empty());
    return child;
}

void kill_it(pid_t child) {
    CHECK_EQUAL(kill(child, SIGKILL), 0);
    CHECK_EQUAL(waitpid(child, nullptr, 0), child);
}

} // namespace

int main(int argc, char **argv) {
    const bool is_silent = argc > 1 && std::string(argv[1]) == "silent";
    std::string address;
    pid_t child = device_in_a_process(address);
    const Radio radio = radio_at(address);
    SoapySDR::Stream *stream = radio->setupStream(SOAPY_SDR_RX, SOAPY_SDR_CS16);
    CHECK_EQUAL(radio->activateStream(stream), 0);
    std::vector<sc16> samples(1'000);
    void *buffers[] = {samples.data()};
    int flags = 0;
    long long time_ns = 0;
    CHECK(radio->readStream(stream, buffers, samples.size(), flags, time_ns, PATIENCE_US) > 0);
    kill_it(child);
    if (!is_silent) {
        child = device_in_a_process(address);
    }
    int result = 0;
    do {
        result = radio->readStream(stream, buffers, samples.size(), flags, time_ns, PATIENCE_US);
    } while (result > 0);
    CHECK_EQUAL(result, SOAPY_SDR_STREAM_ERROR);
    CHECK_EQUAL(radio->readStream(stream, buffers, samples.size(), flags, time_ns, 1000),
                SOAPY_SDR_STREAM_ERROR);
    CHECK_EQUAL(radio->deactivateStream(stream), 0);
    if (!is_silent) {
        // Activated again, it goes on with the device that is there.
        CHECK_EQUAL(radio->activateStream(stream), 0);
        CHECK(radio->readStream(stream, buffers, samples.size(), flags, time_ns, PATIENCE_US) > 0);
        CHECK_EQUAL(radio->deactivateStream(stream), 0);
        kill_it(child);
        // One with other channels is not taken for it.
        child = device_in_a_process(address, 3);
        CHECK_EQUAL(radio->activateStream(stream), SOAPY_SDR_STREAM_ERROR);
        CHECK_EQUAL(radio->readStream(stream, buffers, samples.size(), flags, time_ns, 1000),
                    SOAPY_SDR_TIMEOUT);
        kill_it(child);
    }
    check_throws("no answer", [&] {
        radio->writeSetting("timeout_ms", "50");
        radio->getHardwareTime();
    });
    radio->closeStream(stream);
    stream = radio->setupStream(SOAPY_SDR_RX, SOAPY_SDR_CS16);
    CHECK_EQUAL(radio->activateStream(stream), SOAPY_SDR_STREAM_ERROR);
    radio->closeStream(stream);
}
