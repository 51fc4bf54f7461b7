// Receiving over RDMA, between two network namespaces that a veth pair joins. Without an argument the program
// runs itself there.

#include "check.hpp"

#include <SoapySDR/Logger.hpp>
#include <unistd.h>

#include <cstring>

namespace {

/// A namespace `far` behind `near0`, beside which the program runs itself.
constexpr const char INTERFACES[] =
    "mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run && ip netns add far && "
    "ip link add near0 mtu 4200 type veth peer name far0 mtu 4200 netns far && "
    "ip addr add 10.9.0.1/24 dev near0 && ip -n far addr add 10.9.0.2/24 dev far0 && "
    "ip link set near0 up && ip -n far link set far0 up && ip link set lo up || exit 77; "
    "exec \"$0\" near";

std::string logged;

void keep(const SoapySDRLogLevel, const char *message) { logged += std::string(message) + "\n"; }

/// A device in the far namespace, since /sys shows the interfaces of one; it ends with its input.
class Far {
  public:
    Far(const std::string &program, const char *carriage) {
        int in[2];
        int out[2];
        CHECK(pipe(in) == 0 && pipe(out) == 0);
        if (fork() == 0) {
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            close(in[1]);
            execlp("ip", "ip", "netns", "exec", "far", program.c_str(), carriage, nullptr);
            _exit(1);
        }
        close(in[0]);
        close(out[1]);
        end_ = in[1];
        for (char letter = 0; read(out[0], &letter, 1) == 1 && letter != '\n';) {
            address_ += letter;
        }
        close(out[0]);
        CHECK(!address_.empty());
    }
    Far(const Far &) = delete;
    Far &operator=(const Far &) = delete;
    ~Far() { close(end_); }

    const std::string &address() const { return address_; }

  private:
    int end_ = -1;
    std::string address_;
};

void serve(const char *carriage) {
    samplewire::device_options options;
    options.address = "10.9.0.2:0";
    options.faults = "data:loss=0.01,seed=1";
    options.has_clock = 0;
    options.carriage = std::strcmp(carriage, "rdma") == 0 ? SW_CARRIAGE_RDMA : SW_CARRIAGE_DATA;
    const samplewire::device device(options);
    std::printf("%s\n", device.address().c_str());
    std::fflush(stdout);
    char none = 0;
    CHECK(read(STDIN_FILENO, &none, 1) == 0);
}

/// Reads samples of a stream that is opened with these arguments; returns its carriage.
std::string received(const std::string &address, const std::string &more) {
    const Radio radio = radio_at(address, more);
    SoapySDR::Stream *stream = radio->setupStream(SOAPY_SDR_RX, "CS16", {0});
    CHECK(radio->getChannelInfo(SOAPY_SDR_RX, 0).count("carriage") == 0);
    CHECK_EQUAL(radio->activateStream(stream), 0);
    const std::string carriage = radio->getChannelInfo(SOAPY_SDR_RX, 0).at("carriage");
    std::vector<sc16> samples(4096);
    std::uint64_t next = 0;
    for (std::size_t taken = 0; taken < 200'000;) {
        int flags = 0;
        long long time_ns = 0;
        void *const buffers[] = {samples.data()};
        const int count =
            radio->readStream(stream, buffers, samples.size(), flags, time_ns, PATIENCE_US);
        CHECK(count > 0);
        const std::uint64_t index = index_of(time_ns);
        CHECK(taken == 0 || index == next);
        for (int at = 0; at < count; at++) {
            CHECK(samples[static_cast<std::size_t>(at)] == counted(index + static_cast<std::uint64_t>(at)));
        }
        next = index + static_cast<std::uint64_t>(count);
        taken += static_cast<std::size_t>(count);
    }
    radio->closeStream(stream);
    return carriage;
}

void receives(const std::string &program) {
    {
        const Far far(program, "rdma");
        CHECK(received(far.address(), ",carriage=rdma") == "rdma");
        CHECK(received(far.address(), "") == "data");
    }
    const Far far(program, "data");
    CHECK(received(far.address(), ",carriage=rdma") == "data");
}

/// What cannot be is an error of the activation, in the words of the library.
void names_what_cannot_be(const std::string &program) {
    SoapySDR::registerLogHandler(keep);
    SoapySDR::setLogLevel(SOAPY_SDR_ERROR);
    const Far far(program, "data");
    for (const auto &[more, one, other] :
         {std::tuple{",verbs=none0", "verbs of none0 contradicts a carriage of DATA", ""},
          // Where the library of the cards is missing, that is the error.
          std::tuple{",carriage=rdma,verbs=none0", "no RDMA device is called none0",
                     "the verbs library cannot be loaded"},
          std::tuple{",carriage=rdma,window=100", "window 100", ""}}) {
        const Radio radio = radio_at(far.address(), more);
        SoapySDR::Stream *stream = radio->setupStream(SOAPY_SDR_RX, "CS16", {0});
        logged.clear();
        CHECK_EQUAL(radio->activateStream(stream), SOAPY_SDR_STREAM_ERROR);
        const bool is_other = *other != 0 && logged.find(other) != std::string::npos;
        CHECK(logged.find(one) != std::string::npos || is_other);
        radio->closeStream(stream);
    }
}

} // namespace

int main(int count, char **arguments) {
    if (count == 1) {
        // Without the right to make namespaces the test is skipped.
        execlp("sh", "sh", "-c",
               "unshare --net --mount true || exit 77; exec unshare --net --mount sh -c \"$0\" \"$1\"",
               INTERFACES, arguments[0], nullptr);
        return 77;
    }
    if (std::strcmp(arguments[1], "near") != 0) {
        serve(arguments[1]);
        return 0;
    }
    receives(arguments[0]);
    names_what_cannot_be(arguments[0]);
}
