// One thread activates and deactivates streams while others read, write and take direct buffers.

#include "check.hpp"

#include <atomic>
#include <thread>

namespace {

constexpr unsigned ROUNDS = 20;
/// How long a call waits at most; only the last ones do.
constexpr long WAIT_US = 500'000;

/// A thread that does `work` until this is destroyed.
class Busy {
  public:
    template <class Work>
    explicit Busy(Work work) : thread_([this, work] {
        while (!is_over_) {
            work();
        }
    }) {}
    ~Busy() {
        is_over_ = true;
        thread_.join();
    }

  private:
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

/// Streams may not be closed while they are used, so threads end first.
void is_begun_and_ended(SoapySDR::Device &radio, SoapySDR::Stream *stream) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        CHECK_EQUAL(radio.activateStream(stream), 0);
        CHECK_EQUAL(radio.deactivateStream(stream), 0);
    }
}

void receiving_is_begun_and_ended() {
    const Emulated emulated(1, false);
    const Radio radio = radio_at(emulated.device->address());
    SoapySDR::Stream *stream = radio->setupStream(SOAPY_SDR_RX, SOAPY_SDR_CS16);
    {
        const Busy reads([&] {
            std::vector<sc16> samples(5'000);
            void *buffers[] = {samples.data()};
            int flags = 0;
            long long time_ns = 0;
            const int count =
                radio->readStream(stream, buffers, samples.size(), flags, time_ns, WAIT_US);
            CHECK(count > 0 || count == SOAPY_SDR_TIMEOUT);
            CHECK(count < 0 || samples[0] == counted(index_of(time_ns)));
        });
        const Busy takes([&] {
            const void *buffer = nullptr;
            size_t handle = 0;
            int flags = 0;
            long long time_ns = 0;
            const int count = radio->acquireReadBuffer(stream, handle, &buffer, flags, time_ns,
                                                       WAIT_US);
            CHECK(count > 0 || count == SOAPY_SDR_TIMEOUT);
            if (count > 0) {
                CHECK(*static_cast<const sc16 *>(buffer) == counted(index_of(time_ns)));
                radio->releaseReadBuffer(stream, handle);
            }
        });
        is_begun_and_ended(*radio, stream);
    }
    radio->closeStream(stream);
}

void transmission_is_begun_and_ended() {
    const Emulated emulated(1, false, nullptr, 0, "/dev/null");
    const Radio radio = radio_at(emulated.device->address(), ",lead_ms=5");
    SoapySDR::Stream *stream = radio->setupStream(SOAPY_SDR_TX, SOAPY_SDR_CS16);
    {
        const Busy writes([&] {
            const std::vector<sc16> samples(2'000);
            const void *buffers[] = {samples.data()};
            int flags = SOAPY_SDR_END_BURST;
            const int count =
                radio->writeStream(stream, buffers, samples.size(), flags, 0, WAIT_US);
            CHECK(count > 0 || count == SOAPY_SDR_TIMEOUT);
        });
        const Busy queries([&] {
            size_t mask = 0;
            int flags = 0;
            long long time_ns = 0;
            radio->readStreamStatus(stream, mask, flags, time_ns, WAIT_US);
        });
        is_begun_and_ended(*radio, stream);
    }
    radio->closeStream(stream);
}

} // namespace

int main() {
    receiving_is_begun_and_ended();
    transmission_is_begun_and_ended();
}
